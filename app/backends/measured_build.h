/// @file
/// Several builds of one tree with one allocator: how they are made, and what was measured.
#pragma once

#include <optional>
#include <vector>

#include "allocators/measure/statistics.h"
#include "allocators/measure/trace.h"
#include "kdtree/build_result.h"

namespace heapwood::app {

/// How to measure, beside how to build.
struct RunOptions : kdtree::BuildOptions {
    unsigned repeat = 5;     ///< timed builds
    unsigned warm_up = 1;    ///< untimed builds before them
    bool statistics = true;  ///< more builds with the counting adaptor
    bool trace = false;      ///< one more build, whose requests and frees are recorded
    /// What the builds' own array pool keeps, where options have none.
    allocators::ArrayPool::Keep keep = allocators::ArrayPool::Keep::slabs;
};

/// The last build, and what all of them showed.
struct MeasuredBuild : kdtree::BuildResult {
    std::vector<double> milliseconds;  ///< one per timed build: its build_ms
    allocators::Statistics allocations;
    /// Of the pool when most was live in it, if that is known and statistics were asked for.
    std::optional<allocators::PeakUse> peak;
    /// If asked for: callers are warps.
    std::optional<allocators::Trace> trace;
};

}  // namespace heapwood::app
