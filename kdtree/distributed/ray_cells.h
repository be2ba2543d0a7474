/// @file
/// A finished tree cut into cells for rays: which subtrees may lie on different workers, and what
/// each worker keeps of the tree.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// How a tree is divided among parts. All parts compute the same from the same tree.
struct RayCells {
    /// A tree whose leaves are empty, or have one "reference", the number of a cell. Cells are
    /// numbered in pre-order, so that such a leaf's first reference is the number, too.
    Tree top;
    std::vector<std::uint32_t> roots;  ///< by cell: its root's number in the whole tree
    std::vector<std::uint32_t> parts;  ///< by cell: the part that has it, ascending
};

/// Cuts a tree into subtrees of at most an eighth of a part's share of the references (a leaf is
/// never cut), and gives each part neighbouring ones, of about as many references each. A part may
/// have no cell.
/// @param tree canonical, and not without nodes.
/// @throws std::invalid_argument for 0 parts.
RayCells ray_cells(const Tree& tree, std::uint32_t parts);

/// What is left of the whole tree if all cells but one become empty leaves: the cell, and its path
/// from the root. A ray comes into the cell with the same numbers, to the bit, as in the whole
/// tree.
/// @return canonical; its references are numbers of triangles of the whole scene.
Tree tree_with_cell(const Tree& tree, const RayCells& cells, std::uint32_t cell);

}  // namespace heapwood::kdtree
