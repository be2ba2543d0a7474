/// @file
/// Several builds of one tree with one allocator: how they are made, and what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "allocators/measure/heap_map.h"
#include "allocators/measure/statistics.h"
#include "allocators/measure/trace.h"
#include "kdtree/build_result.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// How to build, and what to measure.
struct RunOptions {
    std::uint64_t pool_bytes = 0;      ///< of the allocator's pool
    unsigned repeat = 5;               ///< timed builds
    unsigned warm_up = 1;              ///< untimed builds before them
    unsigned threads = 0;              ///< CPU only: threads, each a warp; 0: one a core
    allocators::Choices choices = {};  ///< of the values of the allocator's options
    bool statistics = true;            ///< more builds with the counting adaptor
    bool heap_map = false;             ///< with statistics: where blocks lie, too
    bool trace = false;                ///< one more build, whose requests and frees are recorded
    /// Where arrays outside the allocator's pool come from, to be used again by the next builds;
    /// nullptr: a pool that ends with these builds and keeps slabs as `keep` says.
    allocators::ArrayPool* array_pool = nullptr;
    allocators::ArrayPool::Keep keep = allocators::ArrayPool::Keep::slabs;
    std::stop_token stop = {};  ///< as of kdtree::BuildOptions

    /// Those of one build, with arrays from `own` where no pool is given.
    kdtree::BuildOptions build_options(allocators::ArrayPool& own) const {
        return {.pool_bytes = pool_bytes,
                .threads = threads,
                .choices = choices,
                .array_pool = array_pool != nullptr ? array_pool : &own,
                .stop = stop};
    }
};

/// The last build, and what all of them showed.
struct MeasuredBuild : kdtree::BuildResult {
    std::vector<double> milliseconds;  ///< one per timed build: its build_ms
    allocators::Statistics allocations;
    /// Of the pool when most was live in it, if that is known and statistics were asked for.
    std::optional<allocators::PeakUse> peak;
    /// Of the same pool, if asked for.
    std::optional<allocators::HeapMap> heap_map;
    /// If asked for: callers are warps.
    std::optional<allocators::Trace> trace;
};

/// Builds of the frames of an animation, one after another, by one builder.
struct MeasuredFrames {
    kdtree::Status status = kdtree::Status::done;
    std::string message;                 ///< why a build is not done; the others are then missing
    double first_ms = 0;                 ///< making the builder, and the first frame's tree
    std::vector<double> milliseconds;    ///< one per timed build of a frame
    std::vector<std::uint64_t> digests;  ///< of the frames' trees; empty: nobody has looked
};

/// Sees a frame and its tree.
using LookAtTree = std::function<void(const scenes::Scene&, const kdtree::Tree&)>;

}  // namespace heapwood::app
