#include "kdtree/distributed/join.h"

#include <array>
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

void Join::added(std::uint64_t nodes, std::uint64_t references) {
    pending_.pop_back();
    nodes_ += nodes - 1;
    references_ += references;
    advance();
}

}  // namespace heapwood::kdtree
