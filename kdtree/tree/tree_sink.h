/// @file
/// Where a canonical tree goes while it grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

class TreeSink {
public:
    virtual ~TreeSink() = default;
    /// Adds nodes at the end.
    virtual void add_nodes(std::span<const Node> nodes) = 0;
    /// Changes one that is there.
    virtual void set_node(std::uint32_t place, const Node& node) = 0;
    /// Adds references at the end.
    virtual void add_references(std::span<const std::uint32_t> references) = 0;
    /// Adds room at the end for `nodes` nodes and `references` references. The caller then writes
    /// them by put_nodes() and put_references().
    virtual void extend(std::uint64_t nodes, std::uint64_t references) = 0;
    /// Writes nodes, or references, from `place` on, where extend() has made room. Several threads
    /// may call this at the same time for different places, while no other function runs.
    virtual void put_nodes(std::uint64_t place, std::span<const Node> nodes) = 0;
    virtual void put_references(std::uint64_t place, std::span<const std::uint32_t> references) = 0;
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
    void extend(std::uint64_t nodes, std::uint64_t references) override {
        tree_.nodes.resize(tree_.nodes.size() + nodes);
        tree_.references.resize(tree_.references.size() + references);
    }
    void put_nodes(std::uint64_t place, std::span<const Node> nodes) override {
        std::ranges::copy(nodes, tree_.nodes.data() + place);
    }
    void put_references(std::uint64_t place, std::span<const std::uint32_t> references) override {
        std::ranges::copy(references, tree_.references.data() + place);
    }
    void clear() override { tree_ = {}; }

private:
    Tree& tree_;
};

}  // namespace heapwood::kdtree
