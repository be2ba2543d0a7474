/// @file
/// Several builds of one tree with one allocator: how they are made, and what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocators/measure/heap_map.h"
#include "allocators/measure/statistics.h"
#include "allocators/measure/trace.h"
#include "kdtree/build_result.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// How to build, and what to measure.
struct RunOptions : kdtree::RunConfig {
    unsigned repeat = 5;     ///< timed builds
    unsigned warm_up = 1;    ///< untimed builds before them
    bool statistics = true;  ///< more builds with the counting adaptor
    bool heap_map = false;   ///< with statistics: where blocks lie, too
    bool trace = false;      ///< one more build, whose requests and frees are recorded
    /// What a pool of arrays keeps that ends with these builds, where no `array_pool` is given.
    allocators::ArrayPool::Keep keep = allocators::ArrayPool::Keep::slabs;

    /// How each of these builds runs, with arrays from `own` where no pool is given.
    kdtree::RunConfig config(allocators::ArrayPool& own) const {
        kdtree::RunConfig one = *this;
        if (one.array_pool == nullptr) one.array_pool = &own;
        return one;
    }
};

/// The last build, and what all of them showed.
struct MeasuredBuild : kdtree::BuildResult {
    std::vector<double> milliseconds;                   ///< one per timed build: its build_ms
    std::optional<allocators::Statistics> allocations;  ///< if statistics were asked for
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
