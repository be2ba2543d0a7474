/// @file
/// What `bench` found out as text: for people, for documents, for spreadsheets, for programs.
#pragma once

#include <string>
#include <vector>

#include "app/measure/bench_report.h"
#include "app/report/table.h"

namespace heapwood::app {

/// For each series and metric a table of medians, warm and cold apart: a row an allocator, a column
/// a point; published figures below ours.
std::vector<Table> bench_sections(const BenchReport& report);

/// Tables for a terminal.
std::string as_text(const BenchReport& report, bool colour);

/// The same tables for a document.
std::string as_markdown(const BenchReport& report);

/// A row for each cell, metric and phase (cold, warm, value), and one for each cell without
/// figures.
std::string as_csv(const BenchReport& report);

/// Everything, by app/report/schemas/bench.schema.json; unknown figures are null.
std::string as_json(const BenchReport& report);

}  // namespace heapwood::app
