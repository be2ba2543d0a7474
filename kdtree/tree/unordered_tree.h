/// @file
/// A tree as a build leaves it.
#pragma once

#include <cstdint>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree::detail {

/// Nodes and references in a machine's memory. Places that no node or leaf refers to are not read.
/// Owns nothing.
struct UnorderedTree {
    const Node* nodes;
    std::uint64_t node_end;
    const std::uint32_t* references;
    std::uint64_t reference_end;
    Box bounds;
    float scale;  ///< that planes are divided by
};

}  // namespace heapwood::kdtree::detail
