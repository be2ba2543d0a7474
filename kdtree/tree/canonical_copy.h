/// @file
/// A copy on the host, in canonical form, of a tree that a build has left on either machine.
#pragma once

#include <cstdint>

#include "allocators/memory/array_pool.h"
#include "allocators/memory/buffer.h"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// Arrays of a builder, and how far the tree reaches in them: all of its nodes and references have
/// smaller numbers. Between these are places that no node or leaf refers to.
struct LeftTree {
    const allocators::ArrayPool::Block& nodes;
    std::uint64_t node_end;
    const allocators::ArrayPool::Block& references;
    std::uint64_t reference_end;
    Box bounds;   ///< of the scene
    float scale;  ///< that the nodes' planes are multiplied by, a power of two
    allocators::Place place;
};

/// On a GPU by kernels, on the stream of the caller's StreamScope or the default stream; where they
/// lack memory, and on the host, by canonical(). Waits for the copy.
/// @throws std::runtime_error if the nodes are not a tree, and as Buffer.
Tree canonical_copy(const LeftTree& made);

}  // namespace heapwood::kdtree
