/// @file
/// CSV, JSON and pages.
#include "app/base/printable.h"
#include "app/measure/builds/result_json.h"
#include "app/report/figures/cells.h"
#include "app/report/page/page.h"
#include "app/report/renderers/formats.h"

namespace heapwood::app {
namespace {

/// A cell, in quotes where RFC 4180 wants them.
std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n") == text.npos) return text;
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"') result += '"';
        result += c;
    }
    return result + "\"";
}

/// The text of a cell. Spreadsheets would run a name that begins as a formula does; an apostrophe
/// in front of it keeps them from it.
std::string without_formula(const Cell& cell) {
    constexpr std::string_view kBegins = "=+-@\t\r";
    const std::string& text = cell.text;
    const bool numbers = text.find_first_not_of("0123456789.eE+- ") == text.npos;
    const bool formula = !numbers && kBegins.find(text.front()) != kBegins.npos;
    return formula ? "'" + text : text;
}

Json cell_json(const Cell& cell) {
    constexpr const char* kLooks[] = {"", "best", "failed"};
    return {{"text", cell.text},
            {"value", or_null(cell.value)},
            {"look", kLooks[static_cast<int>(cell.look)]},
            {"note", cell.note}};
}

Json table_json(const Table& table) {
    const auto column_json = [](const Column& c) -> Json {
        return {{"title", c.title}, {"numbers", c.numbers}};
    };
    const auto row_json = [](const std::vector<Cell>& row) { return array_of(row, cell_json); };
    return {{"title", table.title},
            {"columns", array_of(table.columns, column_json)},
            {"rows", array_of(table.rows, row_json)}};
}

Json plot_json(const Plot& plot) {
    const auto point_json = [](const Plot::Point& point) -> Json {
        return {{"x", point.x}, {"y", point.y}, {"text", point.text}};
    };
    const auto line_json = [&](const Plot::Line& line) -> Json {
        return {{"name", line.name},
                {"points", array_of(line.points, point_json)},
                {"strong", line.strong},
                {"partial", line.partial},
                {"word", line.word}};
    };
    return {{"table", plot.table},
            {"title", plot.title},
            {"x", plot.x},
            {"y", plot.y},
            {"base", or_null(plot.base)},
            {"lines", array_of(plot.lines, line_json)}};
}

Json pool_json(const PoolPictures& pool) {
    const auto picture_json = [](const auto& picture) -> Json {
        return {{"name", picture.first},
                {"blocks", picture.second.blocks},
                {"fill", picture.second.fill}};
    };
    return {{"table", pool.table},
            {"title", pool.title},
            {"pictures", array_of(pool.pictures, picture_json)}};
}

Json remark_json(const Remark& remark) {
    return {{"text", remark.text}, {"warning", remark.warning}};
}

}  // namespace

std::string as_csv(const Document& document) {
    std::string text;
    const auto append = [&text](bool first, const std::string& cell) {
        text += (first ? "" : ",") + quoted(printable(cell, "\n"));
    };
    const Table& table = document.records;
    for (std::size_t i = 0; i < table.columns.size(); ++i) append(i == 0, table.columns[i].title);
    text += "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) append(i == 0, without_formula(row[i]));
        text += "\n";
    }
    return text;
}

std::string as_json(const Document& document) {
    return json_text(document.data);
}

std::string as_html(const Document& document) {
    return page_of(
        json_text({{"title", document.title},
                   {"tables", array_of(for_readers(document.tables, true), table_json)},
                   {"plots", array_of(document.plots, plot_json)},
                   {"pools", array_of(document.pools, pool_json)},
                   {"remarks", array_of(for_readers(document.remarks, true), remark_json)},
                   {"records", table_json(document.records)},
                   {"data", document.data}}));
}

}  // namespace heapwood::app
