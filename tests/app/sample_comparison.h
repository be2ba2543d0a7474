/// @file
/// A comparison whose figures a test can recognise.
#pragma once

#include <initializer_list>

#include "app/measure/builds/comparison.h"

namespace heapwood::app {

/// A build that is done, in one run of `ms`.
inline Result done_result(const char* allocator, double ms, std::uint64_t tree, bool full = true) {
    Result r;
    r.allocator = {.name = allocator,
                   .title = "",
                   .source = "",
                   .frees_individually = true,
                   .full = full,
                   .walkable = true,
                   .header_bytes = 0,
                   .smallest_pool = 0};
    r.built.milliseconds = {ms};
    r.tree.emplace();
    r.tree->digest = tree;
    return r;
}

/// One that is not.
inline Result failed_result(const char* allocator, Outcome outcome, bool full = true) {
    Result r;
    r.allocator = {.name = allocator,
                   .title = "",
                   .source = "",
                   .frees_individually = true,
                   .full = full,
                   .walkable = true,
                   .header_bytes = 0,
                   .smallest_pool = 0};
    r.fail(outcome, "why");
    return r;
}

/// One scene, and a pool for each list of results: 1x, 2x, ...
inline Comparison sample_comparison(std::initializer_list<std::vector<Result>> pools) {
    Comparison comparison;
    comparison.common.provenance.machine.name = "Machine";
    comparison.common.provenance.arguments = {"heapwood", "compare"};
    comparison.common.provenance.date = "2024-02-29T12:00:00Z";
    Report scene = comparison.common;
    scene.scene_path = "models/a_b.obj.xz";
    scene.triangles = 12345;
    scene.root_bytes = 1000;
    comparison.scenes = {scene};
    for (const std::vector<Result>& results : pools) {
        comparison.pools.push_back(std::to_string(comparison.pools.size() + 1) + "x");
        Group group;
        group.pool = comparison.pools.back();
        group.report = scene;
        group.report.results = results;
        comparison.groups.push_back(group);
    }
    return comparison;
}

}  // namespace heapwood::app
