/// @file
/// The results of `bench` as a document.
#pragma once

#include <vector>

#include "app/measure/bench_report.h"
#include "app/measure/figures.h"
#include "app/report/document.h"

namespace heapwood::app {

/// For each series and metric a table of medians, warm and cold apart. CSV has a row for each cell,
/// metric and phase (cold, warm, value), and one for each cell without figures. JSON is by
/// app/report/schemas/bench.schema.json.
Document document_of(const BenchReport& report);

/// The tables: a row for an allocator, a column for a point, published figures below ours.
std::vector<Table> bench_tables(const BenchReport& report);

/// A plot for each of these tables that goes along an axis.
std::vector<Plot> bench_plots(const BenchReport& report);

/// A cell of bench in its report.
struct BenchOf {
    const BenchReport& report;
    const BenchCell& cell;
};

/// The figures of a cell beside its metrics, in the order of JSON and CSV.
const FigureList<BenchOf>& bench_figures();

}  // namespace heapwood::app
