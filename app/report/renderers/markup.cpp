/// @file
/// Markdown and LaTeX.
#include <cctype>
#include <map>

#include "app/base/printable.h"
#include "app/base/text.h"
#include "app/report/renderers/formats.h"

namespace heapwood::app {
namespace {

/// What Markdown reads as markup wherever it stands; '|' ends a cell.
constexpr std::string_view kMarkdownMarks = "\\`*_[]<>|~&$";

using Escape = std::string (*)(std::string_view);

/// A row's cells, escaped and the strong ones between two marks.
std::vector<std::string> cells(const std::vector<Cell>& row, Escape escape, const char* before,
                               const char* after) {
    std::vector<std::string> all;
    for (const Cell& cell : row) {
        const bool strong = cell.look == Cell::Look::strong;
        all.push_back((strong ? before : "") + escape(cell.text) + (strong ? after : ""));
    }
    return all;
}

std::string markdown(const Table& table) {
    std::string text;
    if (!table.title.empty()) text += "### " + markdown_escaped(table.title) + "\n\n";
    std::string rule = "|";
    text += "|";
    for (const Column& column : table.columns) {
        text += " " + markdown_escaped(column.title) + " |";
        rule += column.numbers ? " ---: |" : " --- |";
    }
    text += "\n" + rule + "\n";
    for (const auto& row : table.rows) {
        text += "| " + joined(cells(row, markdown_escaped, "**", "**"), " | ") + " |\n";
    }
    return text + "\n";
}

std::string latex(const Table& table) {
    std::string sides;
    std::vector<std::string> headings;
    for (const Column& column : table.columns) {
        sides += column.numbers ? 'r' : 'l';
        headings.push_back(latex_escaped(column.title));
    }
    std::string text = "\\begin{table}\n\\caption{" + latex_escaped(table.title) +
                       "}\n\\begin{tabular}{" + sides + "}\n\\hline\n";
    text += joined(headings, " & ") + " \\\\\n\\hline\n";
    for (const auto& row : table.rows) {
        text += joined(cells(row, latex_escaped, "\\textbf{", "}"), " & ") + " \\\\\n";
    }
    return text + "\\hline\n\\end{tabular}\n\\end{table}\n\n";
}

std::string rendered(const Document& document, std::string (*table_text)(const Table&),
                     Escape escape) {
    std::string text;
    for (const Table& table : for_readers(document.tables, true)) text += table_text(table);
    for (const Remark& remark : for_readers(document.remarks, true)) {
        text += escape(remark.text) + "\n\n";
    }
    return text;
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
    std::string result;
    const std::string line = printable(text, " ");
    const auto letter = [&line](std::size_t i) {
        return i < line.size() && std::isalnum(static_cast<unsigned char>(line[i])) != 0;
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
        // Within a word an underscore is one.
        const bool plain = line[i] == '_' && i > 0 && letter(i - 1) && letter(i + 1);
        if (!plain && kMarkdownMarks.find(line[i]) != kMarkdownMarks.npos) result += '\\';
        result += line[i];
    }
    // At the beginning of a line these make headings, lists and rules.
    std::size_t first = result.find_first_not_of(' ');
    if (first == result.npos) return result;
    if (result[first] >= '0' && result[first] <= '9') {
        first = result.find_first_not_of("0123456789", first);
        const bool item = first != result.npos && (result[first] == '.' || result[first] == ')') &&
                          (first + 1 == result.size() || result[first + 1] == ' ');
        if (item) result.insert(first, "\\");
    } else if (std::string_view("#-+=").find(result[first]) != std::string_view::npos) {
        result.insert(first, "\\");
    }
    return result;
}

std::string latex_escaped(std::string_view text) {
    static const std::map<char, const char*> kEscapes{
        {'\\', "\\textbackslash{}"},
        {'~', "\\textasciitilde{}"},
        {'^', "\\textasciicircum{}"},
        {'[', "{[}"},           // after the end of a row it would be read as a distance
        {'<', "\\textless{}"},  // in LaTeX's old fonts these are other characters
        {'>', "\\textgreater{}"},
        {'|', "\\textbar{}"}};
    std::string result;
    for (const char c : printable(text, " ")) {
        if (const auto escape = kEscapes.find(c); escape != kEscapes.end()) {
            result += escape->second;
        } else if (c == '-' && result.ends_with('-')) {  // two would become a dash
            result += "{-}";
        } else {
            if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) result += '\\';
            result += c;
        }
    }
    return result;
}

std::string as_markdown(const Document& document) {
    return rendered(document, markdown, markdown_escaped);
}

std::string as_latex(const Document& document) {
    return rendered(document, latex, latex_escaped);
}

}  // namespace heapwood::app
