#include "kdtree/distributed/join.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace heapwood::kdtree {

Join::Join(Tree top, TreeSink& sink) : top_(std::move(top)), sink_(sink), pending_{{0, 0}} {
    sink_.add_nodes(std::array{Node::leaf(0, 0)});
    advance();
}

/// Goes on through the top as far as the next cell.
void Join::advance() {
    while (!pending_.empty()) {
        const auto [from, to] = pending_.back();
        const Node node = top_.nodes[from];
        if (node.is_leaf() && node.count() > 0) return;
        pending_.pop_back();
        if (node.is_leaf()) {
            sink_.set_node(to, Node::leaf(static_cast<std::uint32_t>(references_), 0));
            continue;
        }
        const auto pair = static_cast<std::uint32_t>(nodes_);
        sink_.set_node(to, {node.payload, pair << 2 | node.axis()});
        sink_.add_nodes(std::array{Node::leaf(0, 0), Node::leaf(0, 0)});
        nodes_ += 2;
        pending_.push_back({node.child() + 1, pair + 1});
        pending_.push_back({node.child(), pair});
    }
}

/// A cell's node as one of the tree, whose next nodes and references it begins.
Node Join::moved(const Node& node) const {
    if (node.is_leaf()) {
        return Node::leaf(node.first() + static_cast<std::uint32_t>(references_), node.count());
    }
    const auto child = static_cast<std::uint32_t>(node.child() - 1 + nodes_);
    return {node.payload, child << 2 | node.axis()};
}

void Join::add(const Tree& cell, std::span<const std::uint32_t> triangles) {
    const std::uint64_t nodes = nodes_ + cell.nodes.size() - 1;
    const std::uint64_t references = references_ + cell.references.size();
    if (nodes > Node::kLimit || references > UINT32_MAX) {
        throw std::invalid_argument("the tree would have at least " + std::to_string(nodes) +
                                    " nodes and " + std::to_string(references) +
                                    " references, more than 2^30 and 2^32 - 1: raise the leaf "
                                    "limit or lower the depth");
    }
    sink_.set_node(pending_.back().to, moved(cell.nodes.front()));
    pending_.pop_back();
    std::vector<Node> below;
    below.reserve(cell.nodes.size() - 1);
    for (std::size_t i = 1; i < cell.nodes.size(); ++i) below.push_back(moved(cell.nodes[i]));
    sink_.add_nodes(below);
    std::vector<std::uint32_t> numbers;
    numbers.reserve(cell.references.size());
    for (const std::uint32_t place : cell.references) numbers.push_back(triangles[place]);
    sink_.add_references(numbers);
    nodes_ = nodes;
    references_ = references;
    advance();
}

}  // namespace heapwood::kdtree
