/// @file
/// Where the tree of a cell belongs in the whole one, and how it comes there.
#pragma once

#include <cstdint>

#include "kdtree/distributed/workers.h"
#include "kdtree/tree/tree_sink.h"

namespace heapwood::kdtree {

/// In canonical form the nodes below a cell's root follow one another, as do its references.
struct CellPlace {
    std::uint32_t root;        ///< node
    std::uint64_t nodes;       ///< the first of the other nodes
    std::uint64_t references;  ///< the first
};

/// Checks that a cell with these numbers of nodes and references fits at its place.
/// @throws std::invalid_argument if the whole tree would have more than 2^30 nodes or 2^32 - 1
/// references.
void require_numbers(const CellPlace& place, std::uint64_t nodes, std::uint64_t references);

/// Puts a cell that was built by itself into its place at the end of the sink's tree, where its
/// root is. @return its status and its numbers. @throws as require_numbers.
CellResult put_cell(const CellTree& cell, const CellPlace& place, TreeSink& sink);

}  // namespace heapwood::kdtree
