/// @file
/// The canonical form of a tree that lies on a GPU, by kernels. Internal to this library.
#pragma once

#include <cstdint>
#include <optional>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree::detail {

/// A tree as a build leaves it on a GPU: places that no node or leaf refers to are not read. Owns
/// nothing.
struct TreeOnGpu {
    const Node* nodes;
    std::uint64_t node_end;
    const std::uint32_t* references;
    std::uint64_t reference_end;
    Box bounds;
    float scale;  ///< that planes are divided by
};

/// Copies a tree to the host, in canonical form: the one that canonical() makes. By kernels on the
/// stream of the caller's StreamScope, or the default stream; waits for them. They need 22 bytes a
/// node besides, 4 a reference, and 8 a node of the result.
/// @return nothing if this memory cannot be had, or the nodes are not a tree: then canonical() says
/// why.
/// @throws std::runtime_error with what CUDA answered.
std::optional<Tree> canonical_on_gpu(const TreeOnGpu& made);

}  // namespace heapwood::kdtree::detail
