/// @file
/// CSV, JSON and pages.
#include "app/measure/result_json.h"
#include "app/report/formats.h"
#include "app/report/page/page.h"

namespace heapwood::app {
namespace {

/// A cell, in quotes where RFC 4180 wants them.
std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == text.npos) return text;
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"') result += '"';
        result += c;
    }
    return result + "\"";
}

Json json_of(const Table& table) {
    Json columns = Json::array();
    for (const Column& c : table.columns) {
        columns.push_back({{"title", c.title}, {"numbers", c.numbers}});
    }
    constexpr const char* kLooks[] = {"", "best", "failed"};
    Json rows = Json::array();
    for (const auto& row : table.rows) {
        Json cells = Json::array();
        for (const Cell& cell : row) {
            cells.push_back({{"text", cell.text},
                             {"value", cell.value ? Json(*cell.value) : Json()},
                             {"look", kLooks[static_cast<int>(cell.look)]},
                             {"note", cell.note}});
        }
        rows.push_back(cells);
    }
    return {{"title", table.title}, {"columns", columns}, {"rows", rows}};
}

Json json_of(const Plot& plot) {
    Json lines = Json::array();
    for (const Plot::Line& line : plot.lines) {
        Json points = Json::array();
        for (const Plot::Point& point : line.points) {
            points.push_back({{"x", point.x}, {"y", point.y}, {"text", point.text}});
        }
        lines.push_back({{"name", line.name},
                         {"points", points},
                         {"strong", line.strong},
                         {"partial", line.partial},
                         {"word", line.word}});
    }
    return {{"table", plot.table},
            {"title", plot.title},
            {"x", plot.x},
            {"y", plot.y},
            {"base", plot.base ? Json(*plot.base) : Json()},
            {"lines", lines}};
}

}  // namespace

std::string as_csv(const Document& document) {
    std::string text;
    const auto append = [&text](bool first, const std::string& cell) {
        text += (first ? "" : ",") + quoted(cell);
    };
    const Table& table = document.records;
    for (std::size_t i = 0; i < table.columns.size(); ++i) append(i == 0, table.columns[i].title);
    text += "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) append(i == 0, row[i].text);
        text += "\n";
    }
    return text;
}

std::string as_json(const Document& document) {
    return json_text(document.data);
}

std::string as_html(const Document& document) {
    Json json{{"title", document.title},
              {"tables", Json::array()},
              {"plots", Json::array()},
              {"remarks", Json::array()},
              {"records", json_of(document.records)},
              {"data", document.data}};
    for (const Table& table : document.tables) {
        if (table.depth != Depth::brief) json["tables"].push_back(json_of(table));
    }
    for (const Plot& plot : document.plots) json["plots"].push_back(json_of(plot));
    for (const Remark& remark : document.remarks) {
        if (remark.depth == Depth::brief) continue;
        json["remarks"].push_back({{"text", remark.text}, {"warning", remark.warning}});
    }
    return page_of(json_text(json));
}

}  // namespace heapwood::app
