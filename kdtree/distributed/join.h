/// @file
/// Joins the trees of cells, one after another, into the one tree whose top they hang from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/tree/tree.h"
#include "kdtree/tree/tree_sink.h"

namespace heapwood::kdtree {

/// In canonical form the nodes below a cell's root follow one another, as do its references:
/// joining is moving their numbers, in pre-order of the cells.
class Join {
public:
    /// Begins a tree in `sink`, to which it refers. @param top of TopLevels::tree().
    Join(Tree top, TreeSink& sink);

    /// Whether all cells are in their places.
    bool done() const { return pending_.empty(); }
    /// The number of the cell that comes next.
    std::uint32_t next() const { return top_.references[top_.nodes[pending_.back().from].first()]; }
    /// Adds that cell's tree, canonical, whose references are numbers in `triangles`.
    /// @throws std::invalid_argument if the whole tree has more nodes or references than can be
    /// numbered.
    void add(const Tree& cell, std::span<const std::uint32_t> triangles);

    std::uint64_t nodes() const { return nodes_; }
    std::uint64_t references() const { return references_; }

private:
    struct Pending {
        std::uint32_t from;  ///< node of the top
        std::uint32_t to;    ///< node of the tree
    };

    void advance();
    Node moved(const Node& node) const;

    const Tree top_;
    TreeSink& sink_;
    std::vector<Pending> pending_;
    std::uint64_t nodes_ = 1;
    std::uint64_t references_ = 0;
};

}  // namespace heapwood::kdtree
