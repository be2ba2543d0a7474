/// @file
/// A comparison as text: for people, for papers, for spreadsheets, for programs.
#pragma once

#include <string>

#include "app/report/comparison.h"

namespace heapwood::app {

/// Tables for a terminal.
std::string as_text(const Comparison& comparison, bool colour);

/// The same tables for a document, and for LaTeX.
std::string as_markdown(const Comparison& comparison);
std::string as_latex(const Comparison& comparison);

/// One row per scene, pool and allocator: that of `build`, with the pool as it was asked for.
std::string as_csv(const Comparison& comparison);

/// Everything, by app/report/schemas/compare.schema.json; unknown figures are null.
std::string as_json(const Comparison& comparison);

}  // namespace heapwood::app
