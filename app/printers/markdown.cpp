#include "app/printers/printers.h"
#include "app/printers/sections.h"
#include "app/printers/table.h"

namespace heapwood::app {
namespace {

/// A cell's text with what would end the cell or the row escaped.
std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|' || c == '\\' || c == '*') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

}  // namespace

std::string as_markdown(const Table& table) {
    std::string text;
    if (!table.title.empty()) text += "### " + escaped(table.title) + "\n\n";
    std::string rule = "|";
    text += "|";
    for (const Column& column : table.columns) {
        text += " " + escaped(column.title) + " |";
        rule += column.numbers ? " ---: |" : " --- |";
    }
    text += "\n" + rule + "\n";
    for (const auto& row : table.rows) {
        text += "|";
        for (const std::string& cell : row) text += " " + escaped(cell) + " |";
        text += "\n";
    }
    return text;
}

std::string as_markdown(const Report& report) {
    std::string text;
    for (const Table& table : sections(report)) text += as_markdown(table) + "\n";
    for (const std::string& remark : remarks(report)) text += escaped(remark) + "\n\n";
    return text;
}

}  // namespace heapwood::app
