#include "kdtree/distributed/cell_place.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace heapwood::kdtree {
namespace {

/// A cell's node as one of the whole tree.
Node moved(const Node& node, const CellPlace& place) {
    if (node.is_leaf()) {
        return Node::leaf(node.first() + static_cast<std::uint32_t>(place.references),
                          node.count());
    }
    const auto child = static_cast<std::uint32_t>(node.child() - 1 + place.nodes);
    return {node.payload, child << 2 | node.axis()};
}

}  // namespace

void require_numbers(const CellPlace& place, std::uint64_t nodes, std::uint64_t references) {
    const std::uint64_t all_nodes = place.nodes + nodes - 1;
    const std::uint64_t all_references = place.references + references;
    if (all_nodes <= Node::kLimit && all_references <= UINT32_MAX) return;
    throw std::invalid_argument("the tree would have at least " + std::to_string(all_nodes) +
                                " nodes and " + std::to_string(all_references) +
                                " references, more than 2^30 and 2^32 - 1: raise the leaf limit "
                                "or lower the depth");
}

CellResult put_cell(const CellTree& cell, const CellPlace& place, TreeSink& sink) {
    CellResult result{.status = cell.status, .message = cell.message};
    if (cell.status != Status::done) return result;
    result.nodes = cell.tree.nodes.size();
    result.references = cell.tree.references.size();
    require_numbers(place, result.nodes, result.references);
    sink.set_node(place.root, moved(cell.tree.nodes.front(), place));
    std::vector<Node> below;
    below.reserve(cell.tree.nodes.size() - 1);
    for (std::size_t i = 1; i < cell.tree.nodes.size(); ++i) {
        below.push_back(moved(cell.tree.nodes[i], place));
    }
    sink.add_nodes(below);
    std::vector<std::uint32_t> numbers;
    numbers.reserve(cell.tree.references.size());
    for (const std::uint32_t at : cell.tree.references) numbers.push_back(cell.numbers[at]);
    sink.add_references(numbers);
    return result;
}

}  // namespace heapwood::kdtree
