/// @file
/// The formats of a document.
#pragma once

#include <string>
#include <string_view>

#include "app/report/figures/document.h"

namespace heapwood::app {

/// The widest line of a text.
inline constexpr std::size_t kTextWidth = 100;

/// For a terminal, no line wider than kTextWidth: tables that are wider go on below, long cells and
/// remarks on the next line.
/// @param colour sets titles and headings off
/// @param details shows the detailed tables instead of the brief ones
std::string as_text(const Document& document, bool colour, bool details);

/// As GitHub understands it: all tables but the brief ones, and the remarks.
std::string as_markdown(const Document& document);

/// Floating table environments, without packages.
std::string as_latex(const Document& document);

/// The records, by RFC 4180 with "\n" line ends: a row of headings, then the rows. Text is as
/// printable() has it, but with its line ends, and has an apostrophe in front if it begins with
/// = + - or @; exact in JSON alone.
std::string as_csv(const Document& document);

/// The data; a path in it need not be UTF-8, JSON must.
std::string as_json(const Document& document);

/// One page that needs nothing but a browser (no network, no other file): tables that can be
/// sorted, plots, remarks, records and provenance; the data can be saved.
std::string as_html(const Document& document);

/// Text with all that Markdown, or LaTeX, would take for its own escaped.
std::string markdown_escaped(std::string_view text);
std::string latex_escaped(std::string_view text);

}  // namespace heapwood::app
