/// @file
/// Every format of every verb's document is read back as its readers would, with names that it
/// must escape.
#include "app/report/renderers/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/base/printable.h"
#include "app/base/text.h"
#include "tests/app/report/page/sample_documents.h"

namespace heapwood::app {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// The rows of RFC 4180.
Rows read_csv(const std::string& text) {
    Rows rows{{""}};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            rows.back().back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && c == ',') {
            rows.back().emplace_back();
        } else if (!quoted && c == '\n') {
            rows.push_back({""});
        } else {
            rows.back().back() += c;
        }
    }
    rows.pop_back();
    return rows;
}

/// The cells that a document shows, in order: headings, then rows, of every table.
std::vector<std::string> cells_of(const Document& document) {
    std::vector<std::string> all;
    for (const Table& table : document.tables) {
        if (table.depth == Depth::brief) continue;
        for (const Column& column : table.columns) all.push_back(printable(column.title, " "));
        for (const auto& row : table.rows) {
            for (const Cell& cell : row) all.push_back(printable(cell.text, " "));
        }
    }
    return all;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// The cells of a Markdown row, without its escapes and bold marks.
std::vector<std::string> markdown_cells(const std::string& line) {
    std::vector<std::string> cells;
    std::string cell;
    for (std::size_t i = 1; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) {
            cell += line[++i];
        } else if (line[i] == '|') {
            cells.push_back(cell.substr(1, cell.size() - 2));
            cell.clear();
        } else if (line[i] != '*') {
            EXPECT_EQ(std::string("`<>$~&[]").find(line[i]), std::string::npos) << line;
            cell += line[i];
        }
    }
    return cells;
}

/// What LaTeX would typeset for a piece of text.
std::string latex_read(std::string text) {
    const auto replace = [&text](const std::string& from, const std::string& to) {
        for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
            text.replace(at, from.size(), to);
        }
    };
    if (text.compare(0, 8, "\\textbf{") == 0) text = text.substr(8, text.size() - 9);
    replace("\\textasciitilde{}", "~");
    replace("\\textasciicircum{}", "^");
    replace("\\textless{}", "<");
    replace("\\textgreater{}", ">");
    replace("\\textbar{}", "|");
    replace("{[}", "[");
    replace("{-}", "-");
    for (const char* mark : {"&", "%", "$", "#", "_"}) replace(std::string("\\") + mark, mark);
    replace("\\textbackslash{}", "\\");
    replace("\\{", "{");
    replace("\\}", "}");
    return text;
}

TEST(Formats, NoLineOfTextIsTooWide) {
    for (const Document& document : sample_documents()) {
        for (const bool details : {false, true}) {
            for (const std::string& line : lines_of(as_text(document, false, details))) {
                EXPECT_LE(display_width(line), kTextWidth) << document.title << ": " << line;
                EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
            }
        }
    }
}

TEST(Formats, TextHasEveryCell) {
    for (const Document& document : sample_documents()) {
        std::string text = as_text(document, false, true);
        const auto blank = [](unsigned char c) { return c <= ' '; };
        text.erase(std::remove_if(text.begin(), text.end(), blank), text.end());
        for (std::string cell : cells_of(document)) {
            cell.erase(std::remove_if(cell.begin(), cell.end(), blank), cell.end());
            // Long cells are broken, and beside them stand others.
            if (cell.size() > 20) cell.resize(20);
            EXPECT_NE(text.find(cell), text.npos) << document.title << ": " << cell;
        }
    }
}

TEST(Formats, CsvIsReadBack) {
    for (const Document& document : sample_documents()) {
        const Rows rows = read_csv(as_csv(document));
        ASSERT_EQ(rows.size(), document.records.rows.size() + 1) << document.title;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            ASSERT_EQ(rows[r].size(), document.records.columns.size()) << document.title;
            for (std::size_t c = 0; c < rows[r].size(); ++c) {
                EXPECT_EQ(rows[r][c], printable(r == 0 ? document.records.columns[c].title
                                                       : document.records.rows[r - 1][c].text,
                                                "\n"));
            }
        }
        const std::vector<std::string>& headings = rows.front();
        EXPECT_EQ(std::set<std::string>(headings.begin(), headings.end()).size(), headings.size());
    }
}

TEST(Formats, JsonIsReadBack) {
    for (const Document& document : sample_documents()) {
        EXPECT_EQ(Json::parse(as_json(document)), document.data) << document.title;
        EXPECT_EQ(document.data.at("schema"), 1);
    }
}

TEST(Formats, MarkdownIsReadBack) {
    for (const Document& document : sample_documents()) {
        std::vector<std::string> found;
        for (const std::string& line : lines_of(as_markdown(document))) {
            if (line[0] != '|' || line.compare(0, 5, "| ---") == 0) continue;
            const std::vector<std::string> cells = markdown_cells(line);
            found.insert(found.end(), cells.begin(), cells.end());
        }
        EXPECT_EQ(found, cells_of(document)) << document.title;
    }
}

TEST(Formats, NoTerminalObeysThem) {
    for (const Document& document : sample_documents()) {
        for (const auto& format : {as_markdown, as_latex, as_csv, as_json, as_html}) {
            const std::string text = format(document);
            EXPECT_EQ(text.find('\x1b'), text.npos) << document.title;
            EXPECT_EQ(text.find("\u009b"), text.npos) << document.title;
        }
        const std::string text = as_text(document, false, true);
        for (const std::string& line : lines_of(text)) EXPECT_EQ(printable(line), line);
        EXPECT_NE(text.find("\\x1b"), text.npos) << document.title;
    }
}

TEST(Formats, UnderscoresAreEscapedWhereTheyWouldBeMarks) {
    EXPECT_EQ(markdown_escaped("T_build _x_ a_"), "T_build \\_x\\_ a\\_");
}

TEST(Formats, RemarksAreNoMarkdown) {
    for (const char* text :
         {"* x", "# x", "- x", "+ x", "1. x", "12) x", "=== x", "<b>", "a | b"}) {
        const std::string escaped = markdown_escaped(text);
        EXPECT_NE(escaped.find('\\'), escaped.npos) << escaped;
    }
    EXPECT_EQ(markdown_escaped("1.5x, 0.8 ms (2 times)"), "1.5x, 0.8 ms (2 times)");
    for (const Document& document : sample_documents()) {
        for (const std::string& line : lines_of(as_markdown(document))) {
            const bool marked = line.find_first_of("*-+>") == 0;
            EXPECT_FALSE(marked) << line;
        }
    }
}

TEST(Formats, LatexIsReadBack) {
    for (const Document& document : sample_documents()) {
        std::vector<std::string> found;
        const std::string text = as_latex(document);
        for (std::string line : lines_of(text)) {
            if (line.size() < 3 || line.compare(line.size() - 3, 3, " \\\\") != 0) continue;
            line.resize(line.size() - 3);
            for (std::size_t at = 0; at != line.npos;) {
                const std::size_t end = line.find(" & ", at);
                found.push_back(latex_read(line.substr(at, end == line.npos ? end : end - at)));
                at = end == line.npos ? end : end + 3;
            }
        }
        EXPECT_EQ(found, cells_of(document)) << document.title;
        int depth = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const bool escaped = i > 0 && text[i - 1] == '\\';
            if (text[i] == '{' && !escaped) ++depth;
            if (text[i] == '}' && !escaped) --depth;
            ASSERT_GE(depth, 0) << document.title;
        }
        EXPECT_EQ(depth, 0) << document.title;
    }
}

TEST(Formats, HtmlHoldsTheDocumentWhateverItSays) {
    for (const Document& document : sample_documents()) {
        const std::string page = as_html(document);
        EXPECT_EQ(page.find("<!DOCTYPE html>"), 0U);
        EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
        // What a browser takes for the content of the script element: up to "</script".
        const std::string opening = "<script id=\"results\" type=\"application/json\">";
        const std::size_t begin = page.find(opening) + opening.size();
        const std::string held = page.substr(begin, page.find("</script", begin) - begin);
        EXPECT_EQ(held.find('<'), held.npos);
        const Json json = Json::parse(held);
        EXPECT_EQ(json.at("data"), document.data);
        EXPECT_EQ(json.at("title"), document.title);
        std::vector<std::string> found;
        for (const Json& table : json.at("tables")) {
            for (const Json& column : table.at("columns")) {
                found.push_back(printable(column.at("title").get<std::string>(), " "));
            }
            for (const Json& row : table.at("rows")) {
                for (const Json& cell : row) {
                    found.push_back(printable(cell.at("text").get<std::string>(), " "));
                }
            }
        }
        EXPECT_EQ(found, cells_of(document));
        // The one address is the name of SVG's namespace, which nothing fetches.
        const std::size_t address = page.find("://");
        EXPECT_EQ(page.substr(address - 4, 26), "http://www.w3.org/2000/svg");
        EXPECT_EQ(page.find("://", address + 1), page.npos);
    }
}

TEST(Formats, PlotsBelongToTables) {
    for (const Document& document : sample_documents()) {
        for (const Plot& plot : document.plots) {
            const bool found = std::any_of(
                document.tables.begin(), document.tables.end(),
                [&](const Table& t) { return t.title == plot.table && t.depth != Depth::brief; });
            EXPECT_TRUE(found) << plot.table;
        }
    }
}

const Document kDocument{
    .title = "x",
    .tables = {{.title = "Title",
                .columns = {{"name"}, {"n", true}, {"last"}},
                .rows = {{"a", "1", "x|y"}, {"–", "1000", ""}, {"long", "", "\"q\", r"}}}}};

TEST(Formats, TextAligns) {
    EXPECT_EQ(as_text(kDocument, false, false),
              "Title\n"
              "name     n  last\n"
              "a        1  x|y\n"
              "–     1000\n"
              "long        \"q\", r\n\n");
}

TEST(Formats, ColourOnlyAroundHeadings) {
    const std::string text = as_text(kDocument, true, false);
    EXPECT_EQ(text.find("\x1b[1mTitle\x1b[0m\n\x1b[1mname     n  last\x1b[0m\na "), 0U) << text;
    EXPECT_EQ(text.find('\x1b', text.find("\na ")), text.npos);
}

TEST(Formats, WideTablesGoOnBelow) {
    Document document{.title = "x", .tables = {{.title = "T", .columns = {{"name"}}}}};
    Table& table = document.tables[0];
    table.rows.push_back({"row"});
    for (int i = 0; i < 30; ++i) {
        table.columns.push_back({"column" + std::to_string(i), true});
        table.rows[0].push_back(std::to_string(i));
    }
    const std::vector<std::string> lines = lines_of(as_text(document, false, false));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "T, continued"), 3);
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                            [](const std::string& line) { return line.rfind("row ", 0) == 0; }),
              4);
}

}  // namespace
}  // namespace heapwood::app
