/// @file
/// The results of `bench` and `replay`: plain data, for any format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/base/exit_code.h"
#include "app/base/provenance.h"
#include "app/inputs/published.h"
#include "app/measure/builds/report.h"
#include "app/measure/engine/runner.h"
#include "app/measure/workloads/perform.h"
#include "app/measure/workloads/sweeps/sweeps.h"

namespace heapwood::app {

/// One runner at one point of one series.
struct BenchCell {
    std::size_t series = 0;  ///< its number
    std::size_t runner = 0;  ///< its number
    std::optional<double> x;
    Task task;  ///< as it was run; with the pool's own size, once there was one
    unsigned turns = 0;
    TaskResult result{.outcome = Outcome::skipped, .message = ""};
};

/// Adds a turn to a cell: its samples, or how it failed, which ends the cell.
void add_turn(BenchCell& cell, TaskResult turn);

/// Everything one call of `bench` found out.
struct BenchReport {
    Provenance provenance;
    WorkloadOptions run;
    std::vector<Runner> runners;
    std::vector<Series> series;
    std::vector<BenchCell> cells;  ///< by series, then point, then runner
    /// Of these series; empty unless asked for.
    std::vector<PublishedRow> published;
    bool asked_for_published = false;
};

/// The trace that is replayed.
struct ReplayedTrace {
    std::string path;
    std::string digest;            ///< of TraceFile
    double seconds = 0;            ///< that reading the trace took
    double pace = 0;               ///< Task::pace
    std::string pool;              ///< as asked for, or "default"
    std::uint64_t pool_bytes = 0;  ///< of that pool with this trace; an allocator may need more
};

/// All results of one call of `replay`.
struct ReplayReport {
    ReplayedTrace trace;
    std::string header;  ///< the trace's first line, a JSON object
    std::uint32_t callers = 0;
    std::uint64_t root_bytes = 0;
    allocators::TraceFacts facts;
    /// One series, and in it a cell for each allocator.
    BenchReport turns;
};

/// The cells of these tests. The pool of a cell is at least what its allocator needs, unless the
/// series varies the pool: there a cell whose pool is smaller is out of pool before any turn, and a
/// runner whose heap has one size has no cells. All other cells are still to be run.
std::vector<BenchCell> cells_of(const std::vector<Series>& series,
                                const std::vector<Runner>& runners);

/// Refuses allocators that need a larger pool than these bytes, which the user chose: their cells
/// are out of pool before any turn.
void refuse_small_pools(BenchReport& report, std::uint64_t pool_bytes);

/// Adds what the compiler said of the kernels for the test "registers", which nothing runs for.
void add_registers(BenchReport& report);

/// The exit code: overwritten blocks before errors; then, if there is not a single figure, out of
/// memory. Refusals and time limits are findings, not errors; warns if there is nothing else.
ExitCode verdict(const BenchReport& report);

}  // namespace heapwood::app
