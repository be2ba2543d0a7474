#include "app/report/table.h"

#include <algorithm>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

std::string bold(const std::string& text, bool colour) {
    return colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

/// One line of cells in columns of these widths, without trailing blanks.
std::string line(const Table& table, const std::vector<std::string>& cells,
                 const std::vector<std::size_t>& widths) {
    std::string text;
    std::size_t pending = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t padding = widths[i] - display_width(cells[i]);
        const bool right = table.columns[i].numbers;
        if (!cells[i].empty()) {
            text += std::string(pending + (right ? padding : 0), ' ') + cells[i];
            pending = right ? 0 : padding;
        } else {
            pending += padding;
        }
        pending += 2;
    }
    return text;
}

}  // namespace

std::string as_text(const Table& plain, bool colour) {
    Table table = plain;
    for (const auto& [row, column] : table.strong) {
        table.rows[row][column] = "[" + table.rows[row][column] + "]";
    }
    std::vector<std::string> headings;
    std::vector<std::size_t> widths;
    for (const Column& column : table.columns) {
        headings.push_back(column.title);
        widths.push_back(display_width(column.title));
    }
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(row[i]));
        }
    }
    std::string text;
    if (!table.title.empty()) text += bold(table.title, colour) + "\n";
    const std::string heading = line(table, headings, widths);
    if (!heading.empty()) text += bold(heading, colour) + "\n";
    for (const auto& row : table.rows) text += line(table, row, widths) + "\n";
    return text;
}

}  // namespace heapwood::app
