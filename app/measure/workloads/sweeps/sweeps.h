/// @file
/// The tests of the papers as sweeps: what is measured, at which points, with which settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/inputs/input.h"
#include "app/measure/workloads/sweeps/task.h"

namespace heapwood::app {

/// What decides how large the tests are.
struct SweepSettings {
    bool gpu = false;
    bool quick = false;                       ///< small counts: every test in a moment
    std::uint32_t blocks = 120;               ///< of AD, ACD and P, 8 warps each: the papers'
    std::optional<std::uint64_t> pool_bytes;  ///< of the tests of 2021 and churn; others' is fixed
    std::uint32_t largest_bytes = 8192;       ///< the largest request of a sweep over sizes
    /// Of the sweeps over sizes, in ascending order; none: the papers'.
    std::vector<std::uint64_t> bytes = {};
    /// Callers of alloc, mixed, scaling, work and access, in ascending order; none: the papers'.
    std::vector<std::uint64_t> callers = {};
    std::optional<std::uint32_t> iterations;  ///< warm ones in a turn
    allocators::Choices choices = {};
    std::uint64_t seed = 1;
    std::optional<SizesFile> sizes = {};  ///< of a live set; none: those of a power law
    std::optional<GraphFile> graph = {};  ///< of the graph tests; none: graphs by rule
};

/// How workloads are run.
struct WorkloadOptions {
    SweepSettings settings;
    unsigned repeat = 3;
    unsigned threads = 0;
    double time_limit = 2;  ///< seconds that an allocator may take for a test
};

/// A quantity that a series measures.
struct Metric {
    std::string name;   ///< in Samples
    std::string title;  ///< for people
    std::string unit;   ///< "ms", "ns", "cycles", "M/s", "B", "%", or "1"
    bool timed;         ///< has cold and warm samples; else values
};

/// The quantity along which a series goes.
struct Axis {
    std::string name;
    std::string title;
    void (*set)(Task& task, std::uint64_t value) = nullptr;  ///< makes a task one of that point
};

/// One point of a series.
struct Point {
    double x;  ///< 0 if the series has no axis
    Task task;
};

/// One sweep: a figure, or a table without an axis.
struct Series {
    std::string id;  ///< "alloc.thread.10000"
    std::string test;
    std::string title;
    std::string source;  ///< paper and figure that it follows
    std::optional<Axis> axis;
    std::vector<Metric> metrics;
    std::vector<Point> points;  ///< in ascending order; none: `registers`, which nothing runs for
    bool baseline = false;      ///< can be done without an allocator
    bool descending = false;    ///< the last point takes least time, and is run first
    bool full_only = false;     ///< only for allocators that are full
    bool exact_pool = false;    ///< the pool is what is varied: never enlarged for an allocator
};

/// A test's name and what it is.
struct TestName {
    std::string name;
    std::string what;
    std::vector<Series> (*series)(const SweepSettings& settings);
};

/// The tests that SweepSettings::bytes is for, and those of SweepSettings::callers.
const std::vector<std::string>& tests_over_sizes();
const std::vector<std::string>& tests_over_callers();

/// All tests, in the order in which they run.
const std::vector<TestName>& test_names();

/// The series of a test, one of test_names(). Points that would ask for more than the pool, in the
/// tests of 2021 for more than half of it, are left out.
/// @throws std::invalid_argument for any other name.
std::vector<Series> series_of(const std::string& test, const SweepSettings& settings);

/// How many warm iterations a turn has at most.
std::uint32_t warm_iterations(const SweepSettings& settings);

/// How many edges a batch of graph-update may have with this graph: half of those that there could
/// be more between a focused batch's sources and all other vertices, whichever sources these are.
std::uint64_t most_batch_edges(const GraphFile& graph);

/// The pool of the tests that follow Winter et al. 2021, unless the user chooses one.
std::uint64_t default_bench_pool(const SweepSettings& settings);

}  // namespace heapwood::app
