/// @file
/// What a build by levels starts from: the root of a scene, or a cell of a larger tree.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "kdtree/model/reference.cuh"
#include "kdtree/split/node_rules.cuh"

namespace heapwood::kdtree {

/// A node on which nothing has been decided, apart from its references. Coordinates are normalised.
struct OpenNode {
    Box cell;
    Box tight;  ///< that the node's bins divide
    std::uint32_t count = 0;
    std::uint32_t depth = 0;       ///< in the whole tree
    std::uint32_t bad_splits = 0;  ///< on the way from the root
};

/// The root of a scene of N triangles within `bounds`.
inline OpenNode root_node(const Box& bounds, std::uint32_t triangles) {
    return {.cell = bounds, .tight = bounds, .count = triangles};
}

/// A node to be built with all that is below it. Owns nothing.
struct LevelInput {
    TreeRules rules;  ///< of the whole tree
    OpenNode root;
    std::span<const Triangle> triangles;  ///< as many as the root has references
    /// Those of the root, which name triangles by their place in `triangles`; empty: each triangle
    /// has one, around the whole of it.
    std::span<const Reference> references;
    float normalisation = 1;  ///< planes and bounds of the finished tree are divided by it
    /// References of leaves above which a build ends as over_budget.
    std::uint64_t budget = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace heapwood::kdtree
