/// @file
/// What `replay` found out as text: for people, for documents, for spreadsheets, for programs.
#pragma once

#include <string>

#include "app/measure/replay_report.h"

namespace heapwood::app {

/// Tables for a terminal: the trace, and a row for each allocator.
std::string as_text(const ReplayReport& report, bool colour);

/// The same tables for a document.
std::string as_markdown(const ReplayReport& report);

/// A row for each allocator; unknown figures are empty cells.
std::string as_csv(const ReplayReport& report);

/// Everything, by app/report/schemas/replay.schema.json; unknown figures are null.
std::string as_json(const ReplayReport& report);

}  // namespace heapwood::app
