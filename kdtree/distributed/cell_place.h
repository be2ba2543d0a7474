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

/// @throws std::invalid_argument if a tree with a cell of so many nodes and references there would
/// have more of them than can be numbered.
void require_numbers(const CellPlace& place, std::uint64_t nodes, std::uint64_t references);

/// Puts a cell that was built by itself into its place at the end of the sink's tree, where its
/// root is. @return what is to be told of it. @throws as require_numbers.
CellResult put_cell(const CellTree& cell, const CellPlace& place, TreeSink& sink);

}  // namespace heapwood::kdtree
