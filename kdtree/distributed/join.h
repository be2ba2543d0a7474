/// @file
/// Joins the trees of cells, one after another, into the one tree whose top they hang from.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/distributed/cell_place.h"
#include "kdtree/tree/tree.h"
#include "kdtree/tree/tree_sink.h"

namespace heapwood::kdtree {

/// Makes the top's own nodes, and says where cells belong, in pre-order of the cells.
class Join {
public:
    /// Begins a tree in `sink`, to which it refers. @param top of TopLevels::tree().
    Join(Tree top, TreeSink& sink);

    /// Whether all cells are in their places.
    bool done() const { return pending_.empty(); }
    /// Where the cell that comes next belongs: behind all that the sink has.
    CellPlace place() const { return {pending_.back().to, nodes_, references_}; }
    /// The caller has put that cell's tree into its place. @param nodes of the cell, with its root.
    /// @param references of the cell
    void added(std::uint64_t nodes, std::uint64_t references);

    std::uint64_t nodes() const { return nodes_; }
    std::uint64_t references() const { return references_; }

private:
    struct Pending {
        std::uint32_t from;  ///< node of the top
        std::uint32_t to;    ///< node of the tree
    };

    void advance();

    const Tree top_;
    TreeSink& sink_;
    std::vector<Pending> pending_;
    std::uint64_t nodes_ = 1;
    std::uint64_t references_ = 0;
};

}  // namespace heapwood::kdtree
