/// @file
/// Runs before their first turn: what `bench` and `replay` prepare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/base/machine.h"
#include "app/cli/cli.h"
#include "app/measure/workloads/bench_report.h"
#include "app/measure/workloads/workload_plan.h"
#include "app/verbs/commands.h"

namespace heapwood::app {

/// The files that the tests of bench are made from.
struct BenchFiles {
    std::optional<SizesFile> sizes;
    std::optional<GraphFile> graph;
};

/// The files that the options name, read.
/// @throws UsageError if no test is to be run that is made from a file; what read_sizes() and
/// read_graph() throw, and InputError for a graph that graph-update cannot insert an edge into.
BenchFiles files_for(const BenchOptions& options);

/// All cells, none with a turn. @param files files_for() these options
/// @throws UsageError for tests or allocators that there are not, or that have nothing to do with
/// each other, and a pool that is too small for any point.
BenchReport new_bench(const BenchOptions& options, const Backends& available,
                      const Machine& machine, const BenchFiles& files);

/// Fills in the turns to come.
/// @param report that has the facts of its trace (trace_facts())
void add_cells(ReplayReport& report, const ReplayOptions& options, const Machine& machine,
               const std::vector<Runner>& runners);

}  // namespace heapwood::app
