/// @file
/// A table of text and its three forms.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heapwood::app {

/// A column's heading, and on which side its cells are flush.
struct Column {
    std::string title;
    bool numbers = false;  ///< flush right
};

/// Rows of as many cells as there are columns.
struct Table {
    std::string title;  ///< may be empty
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;
    /// Row and column of cells that stand out: in brackets on a terminal, in bold in documents.
    std::vector<std::pair<std::size_t, std::size_t>> strong = {};
};

/// What stands where a figure is unknown or has no meaning.
inline constexpr const char* kNoValue = "–";

/// For a terminal; `colour` sets titles and headings off.
std::string as_text(const Table& table, bool colour);

/// As GitHub understands it.
std::string as_markdown(const Table& table);

/// A floating table environment, without packages.
std::string as_latex(const Table& table);

/// Text with all that Markdown, or LaTeX, would take for its own escaped.
std::string markdown_escaped(const std::string& text);
std::string latex_escaped(const std::string& text);

/// RFC 4180 with "\n" line ends: a row of headings, then the rows; the title is left out.
std::string as_csv(const Table& table);

}  // namespace heapwood::app
