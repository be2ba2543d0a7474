/// @file
/// A report as text: for people, for documents, for spreadsheets, for programs.
#pragma once

#include <string>

#include "app/report/report.h"

namespace heapwood::app {

/// Tables for a terminal.
std::string as_text(const Report& report, bool colour);

/// The same tables for a document.
std::string as_markdown(const Report& report);

/// One row per allocator with every figure; unknown figures are empty cells.
std::string as_csv(const Report& report);

/// Everything, by app/report/schemas/report.schema.json; unknown figures are null.
std::string as_json(const Report& report);

}  // namespace heapwood::app
