/// @file
/// The canonical form of a finished tree, by a number of threads that the caller chooses, and its
/// planes.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// The same as canonical() of tree.h, which chooses the number of threads by the size of the
/// tree. Any number gives the same one.
/// @param threads at least 1.
/// @throws std::runtime_error if the nodes are not a tree, or a leaf's references are not there.
Tree canonical(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& references,
               const Box& bounds, unsigned threads);

/// Divides the planes of the nodes of a canonical tree by `scale`. (A builder's own array has
/// places that were never written, which are not to be read.)
void denormalise(std::vector<Node>& nodes, float scale);

}  // namespace heapwood::kdtree
