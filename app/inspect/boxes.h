/// @file
/// A tree's nodes as boxes for a viewer of meshes.
#pragma once

#include <cstdint>
#include <string>

#include "kdtree/tree/tree.h"

namespace heapwood::app {

/// The bytes of a PLY file (binary, little-endian) with the cells of all nodes down to a depth,
/// each as six quadrilaterals around eight vertices. A face says of its node the `depth`, and as
/// `references` how many a leaf has, or -1 for an inner node.
/// @throws std::runtime_error if the tree is not canonical, or has more such nodes than PLY's
/// numbers of vertices can count.
std::string boxes_file(const kdtree::Tree& tree, std::uint32_t depth);

}  // namespace heapwood::app
