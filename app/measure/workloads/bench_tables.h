/// @file
/// The tables and plots of `bench`.
#pragma once

#include "app/measure/workloads/bench_report.h"
#include "app/report/figures/document.h"

namespace heapwood::app {

/// Adds tables with a row for an allocator and a column for a point, published figures below ours,
/// and a plot for each of them that goes along an axis.
void add_tables(const BenchReport& report, Document& document);

}  // namespace heapwood::app
