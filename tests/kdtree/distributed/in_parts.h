/// @file
/// Builds in parts within the test's process.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "kdtree/distributed/forest.h"
#include "kdtree/distributed/local_workers.h"
#include "kdtree/tree/tree_sink.h"

namespace heapwood::kdtree::tests {

struct BuiltInParts {
    Tree tree;
    ForestResult result;
};

/// Builds a scene's tree in `parts` parts, by 2 threads if there are 3 parts, else by one.
inline BuiltInParts build_in_parts(const scenes::Scene& scene, const BuildConfig& config,
                                   std::uint32_t parts, std::uint32_t cell_limit) {
    BuiltInParts built;
    const ForestScene whole = forest_scene(scene);
    LocalWorkers workers(scene, whole.normalisation, parts, config,
                         {.threads = parts == 3 ? 2U : 1U});
    TreeInMemory sink(built.tree);
    built.result = build_forest(whole, config, cell_limit, workers, sink);
    EXPECT_EQ(built.result.status, Status::done) << built.result.message;
    EXPECT_EQ(built.result.nodes, built.tree.nodes.size());
    EXPECT_EQ(built.result.references, built.tree.references.size());
    return built;
}

}  // namespace heapwood::kdtree::tests
