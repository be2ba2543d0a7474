/// @file
/// The figures of a replay.
#pragma once

#include "app/measure/workloads/bench_report.h"
#include "app/report/figures/figures.h"
#include "app/report/figures/shape.h"

namespace heapwood::app {

/// An allocator's cell in its report.
struct ReplayOf {
    const ReplayReport& report;
    const BenchCell& cell;

    const Runner& runner() const { return report.turns.runners[cell.runner]; }
};

/// The trace of a replay.
const Shape<ReplayReport>& trace_facts();

/// The figures of a replay, in the order of JSON and CSV.
const FigureList<ReplayOf>& replay_figures();

}  // namespace heapwood::app
