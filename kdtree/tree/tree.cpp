/// @file
/// The canonical form of a finished tree, and its digest.
#include "kdtree/tree/tree.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "scenes/digest.h"

namespace heapwood::kdtree {
namespace {

[[noreturn]] void malformed(std::size_t node, const std::string& what) {
    throw std::runtime_error("malformed kd-tree: node " + std::to_string(node) + " " + what);
}

/// A node still to be placed: where it was, and where it goes.
struct Pending {
    std::uint32_t from;
    std::uint32_t to;
};

}  // namespace

Tree canonical(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& references,
               const Box& bounds) {
    if (nodes.empty()) throw std::runtime_error("malformed kd-tree: no root");
    if (references.size() > 0xFFFFFFFFU) {
        throw std::runtime_error("malformed kd-tree: more references than 32 bits can number");
    }

    // Every pair is placed at most once, so the loop ends and the result is no larger than the
    // input, whatever the input.
    std::vector<bool> placed(nodes.size(), false);
    placed[0] = true;
    Tree tree{{Node{}}, {}, bounds};
    std::vector<Pending> stack{{0, 0}};
    while (!stack.empty()) {
        const Pending at = stack.back();
        stack.pop_back();
        const Node node = nodes[at.from];
        if (node.is_leaf()) {
            const std::uint64_t end = std::uint64_t{node.first()} + node.count();
            if (end > references.size()) {
                malformed(at.from, "has references up to number " + std::to_string(end) + " of " +
                                       std::to_string(references.size()));
            }
            const std::size_t first = tree.references.size();
            if (first + node.count() > references.size()) {
                malformed(at.from, "shares references with another leaf");
            }
            tree.nodes[at.to] = Node::leaf(static_cast<std::uint32_t>(first), node.count());
            tree.references.insert(tree.references.end(), references.data() + node.first(),
                                   references.data() + end);
            std::sort(tree.references.begin() + static_cast<std::ptrdiff_t>(first),
                      tree.references.end());
            continue;
        }
        const std::uint32_t from = node.child();
        if (std::uint64_t{from} + 1 >= nodes.size()) {
            malformed(at.from, "has child " + std::to_string(from + 1) + " of " +
                                   std::to_string(nodes.size()) + " nodes");
        }
        if (placed[from] || placed[from + 1]) {
            malformed(at.from, "has a child that another node has as well, or that is the root");
        }
        placed[from] = placed[from + 1] = true;
        const auto to = static_cast<std::uint32_t>(tree.nodes.size());
        tree.nodes.resize(tree.nodes.size() + 2);
        tree.nodes[at.to] = {node.payload, to << 2 | node.axis()};
        stack.push_back({from + 1, to + 1});
        stack.push_back({from, to});
    }
    return tree;
}

std::uint64_t digest(const Tree& tree) {
    scenes::Fnv hash;
    // The number of nodes keeps a node from passing for two references.
    hash.add(static_cast<std::uint32_t>(tree.nodes.size()));
    for (const Node& node : tree.nodes) {
        hash.add(node.payload);
        hash.add(node.tagged);
    }
    for (const std::uint32_t reference : tree.references) hash.add(reference);
    return hash.value();
}

}  // namespace heapwood::kdtree
