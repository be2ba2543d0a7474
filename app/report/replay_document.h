/// @file
/// The results of `replay` as a document.
#pragma once

#include "app/measure/bench_report.h"
#include "app/measure/figures.h"
#include "app/report/document.h"

namespace heapwood::app {

/// The trace, and a row for each allocator. JSON is by app/report/schemas/replay.schema.json.
Document document_of(const ReplayReport& report);

/// An allocator's cell in its report.
struct ReplayOf {
    const ReplayReport& report;
    const BenchCell& cell;
};

/// The figures of a replay, in the order of JSON and CSV.
const FigureList<ReplayOf>& replay_figures();

}  // namespace heapwood::app
