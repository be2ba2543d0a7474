#include "app/base/text.h"
#include "app/report/table.h"

namespace heapwood::app {

std::string latex_escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '\\':
                result += "\\textbackslash{}";
                break;
            case '~':
                result += "\\textasciitilde{}";
                break;
            case '^':
                result += "\\textasciicircum{}";
                break;
            case '[':  // after the end of a row it would be read as a distance
                result += "{[}";
                break;
            case '&':
            case '%':
            case '$':
            case '#':
            case '_':
            case '{':
            case '}':
                result += '\\';
                [[fallthrough]];
            default:
                result += c;
        }
    }
    return result;
}

std::string as_latex(const Table& table) {
    auto rows = table.rows;
    for (auto& row : rows) {
        for (std::string& cell : row) cell = latex_escaped(cell);
    }
    for (const auto& [row, column] : table.strong) {
        rows[row][column] = "\\textbf{" + rows[row][column] + "}";
    }
    std::string sides;
    std::vector<std::string> headings;
    for (const Column& column : table.columns) {
        sides += column.numbers ? 'r' : 'l';
        headings.push_back(latex_escaped(column.title));
    }
    std::string text = "\\begin{table}\n\\caption{" + latex_escaped(table.title) +
                       "}\n\\begin{tabular}{" + sides + "}\n\\hline\n";
    text += joined(headings, " & ") + " \\\\\n\\hline\n";
    for (const auto& row : rows) text += joined(row, " & ") + " \\\\\n";
    return text + "\\hline\n\\end{tabular}\n\\end{table}\n";
}

}  // namespace heapwood::app
