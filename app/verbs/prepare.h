/// @file
/// Runs before their first turn: what `compare`, `bench` and `replay` prepare, and `merge` again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/base/machine.h"
#include "app/cli/cli.h"
#include "app/measure/bench_report.h"
#include "app/measure/build_plan.h"
#include "app/measure/workload_plan.h"
#include "app/verbs/commands.h"

namespace heapwood::app {

/// A comparison without scenes and groups.
Comparison new_comparison(const CompareOptions& options, const Machine& machine);

/// What is built in that comparison. @throws UsageError for an allocator that there is not.
Compared compared(const CompareOptions& options, const Backends& available, const Machine& machine);

/// The trace that the options name for the sizes of churn, read; nothing if they name none.
/// @throws UsageError if churn is not to be run, and what read_trace() throws.
std::optional<SizesFile> sizes_for(const BenchOptions& options);

/// All cells, none with a turn. @param sizes sizes_for() these options
/// @throws UsageError for tests or allocators that there are not, or that have nothing to do with
/// each other, and a pool that is too small for any point.
BenchReport new_bench(const BenchOptions& options, const Backends& available,
                      const Machine& machine, const std::optional<SizesFile>& sizes);

/// Fills in the turns to come.
/// @param report that has the facts of its trace (trace_facts())
void add_cells(ReplayReport& report, const ReplayOptions& options, const Machine& machine,
               const std::vector<Runner>& runners);

/// The trace of a report that has all its cells.
/// @param seconds that reading it took
ReplayedTrace replayed(const ReplayReport& report, const ReplayOptions& options,
                       const std::string& digest, double seconds);

}  // namespace heapwood::app
