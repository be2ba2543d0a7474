/// @file
/// Joins the trees of cells, one after another, into the one tree whose top they hang from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// Where a canonical tree goes while it grows.
class TreeSink {
public:
    virtual ~TreeSink() = default;
    /// Adds nodes at the end.
    virtual void add_nodes(std::span<const Node> nodes) = 0;
    /// Changes one that is there. Only a few are changed: those of the top, and the cells' roots.
    virtual void set_node(std::uint32_t place, const Node& node) = 0;
    /// Adds references at the end.
    virtual void add_references(std::span<const std::uint32_t> references) = 0;
    /// Begins anew.
    virtual void clear() = 0;
};

/// A sink in memory.
class TreeInMemory final : public TreeSink {
public:
    /// Refers to the tree.
    explicit TreeInMemory(Tree& tree) : tree_(tree) {}

    void add_nodes(std::span<const Node> nodes) override {
        tree_.nodes.insert(tree_.nodes.end(), nodes.begin(), nodes.end());
    }
    void set_node(std::uint32_t place, const Node& node) override { tree_.nodes[place] = node; }
    void add_references(std::span<const std::uint32_t> references) override {
        tree_.references.insert(tree_.references.end(), references.begin(), references.end());
    }
    void clear() override { tree_ = {}; }

private:
    Tree& tree_;
};

/// In canonical form the nodes below a cell's root follow one another, as do its references:
/// joining is moving their numbers, in pre-order of the cells.
class Join {
public:
    /// Begins a tree in `sink`, to which it refers. @param top of TopLevels::tree().
    Join(const Tree& top, TreeSink& sink);

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
