/// @file
/// A finished tree where a build has left it.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/build_result.h"
#include "kdtree/model/box.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// A tree where it was built: not in canonical form, with places that no node or reference refers
/// to. Planes and triangles are multiplied by `scale`, a power of two. The root is node 0, node 1
/// is not used, and pairs of children begin at even nodes. Owns nothing; the next build overwrites
/// it.
struct TreeInPlace {
    const Node* nodes = nullptr;
    std::uint64_t node_end = 0;  ///< all nodes of the tree have smaller numbers
    const std::uint32_t* references = nullptr;
    std::uint64_t reference_end = 0;
    const Triangle* triangles = nullptr;
    std::uint32_t triangle_count = 0;
    Box bounds{};  ///< of the scene, not multiplied
    float scale = 1;
    /// The build's counters, if the host does not know them yet: then both ends are those of the
    /// arrays, and kernels that follow on the build's stream ask the counters. Otherwise nullptr.
    const BuildState* state = nullptr;
};

/// How many nodes and references a tree in place has, gaps included. A build that failed has none.
struct TreeEnds {
    std::uint64_t nodes = 0;
    std::uint64_t references = 0;
};

/// Call it after the build: on the host, or on the build's stream.
HEAPWOOD_INLINE TreeEnds tree_ends(const TreeInPlace& made) {
    if (made.state == nullptr) return {made.node_end, made.reference_end};
    const BuildState& s = *made.state;
    if (static_cast<Status>(s.status.value) != Status::done || s.faults != 0) return {};
    const std::uint64_t nodes = 2 * s.nodes;
    return {nodes < made.node_end ? nodes : made.node_end,
            s.references < made.reference_end ? s.references : made.reference_end};
}

}  // namespace heapwood::kdtree
