/// @file
/// The canonical form of a tree that lies on a GPU, by kernels. Internal to this library.
#pragma once

#include <optional>

#include "kdtree/tree/tree.h"
#include "kdtree/tree/unordered_tree.h"

namespace heapwood::kdtree::detail {

/// Copies a tree to the host, in canonical form: the one that canonical() makes. By kernels on the
/// stream of the caller's StreamScope, or the default stream; waits for them. They need 22 bytes a
/// node besides, 4 a reference, and 8 a node of the result.
/// @return nothing if this memory cannot be had, or the nodes are not a tree: then canonical() says
/// why.
/// @throws std::runtime_error with what CUDA answered.
std::optional<Tree> canonical_on_gpu(const UnorderedTree& made);

}  // namespace heapwood::kdtree::detail
