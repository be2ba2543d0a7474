#include "app/base/text.h"
#include "app/report/printers.h"
#include "app/report/sections.h"
#include "app/report/table.h"

namespace heapwood::app {
std::string markdown_escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|' || c == '\\' || c == '*') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

std::string as_markdown(const Table& table) {
    std::string text;
    if (!table.title.empty()) text += "### " + markdown_escaped(table.title) + "\n\n";
    std::string rule = "|";
    text += "|";
    for (const Column& column : table.columns) {
        text += " " + markdown_escaped(column.title) + " |";
        rule += column.numbers ? " ---: |" : " --- |";
    }
    text += "\n" + rule + "\n";
    auto rows = table.rows;
    for (auto& row : rows) {
        for (std::string& cell : row) cell = markdown_escaped(cell);
    }
    for (const auto& [row, column] : table.strong)
        rows[row][column] = "**" + rows[row][column] + "**";
    for (const auto& row : rows) text += "| " + joined(row, " | ") + " |\n";
    return text;
}

std::string as_markdown(const Report& report) {
    std::string text;
    for (const Table& table : sections(report)) text += as_markdown(table) + "\n";
    for (const std::string& remark : remarks(report)) text += markdown_escaped(remark) + "\n\n";
    return text;
}

}  // namespace heapwood::app
