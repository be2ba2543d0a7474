/// @file
/// Trees without scenes: in canonical form, and as a builder may leave them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kdtree/tree/tree.h"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {

using Nodes = std::vector<Node>;
using Numbers = std::vector<std::uint32_t>;

inline constexpr Box kUnit{{0, 0, 0}, {1, 1, 1}};

inline bool equal(const Tree& a, const Tree& b) {
    return a.references == b.references && std::ranges::equal(a.nodes, b.nodes, [](Node m, Node n) {
               return m.payload == n.payload && m.tagged == n.tagged;
           });
}

/// Seven nodes in canonical form: x = 0.5; left: y = 0.25; right: z = 0.75.
inline Tree seven_nodes() {
    return {{Node::inner(0, 0.5F, 1), Node::inner(1, 0.25F, 3), Node::inner(2, 0.75F, 5),
             Node::leaf(0, 2), Node::leaf(2, 1), Node::leaf(3, 0), Node::leaf(3, 3)},
            {0, 4, 1, 2, 3, 5},
            kUnit};
}

/// The same tree as a builder may leave it: pairs moved, gaps, references shuffled.
inline Tree scrambled(const Tree& tree, Dice& dice) {
    const std::size_t pairs = (tree.nodes.size() - 1) / 2;
    std::vector<std::uint32_t> place(pairs * 2 + 3);
    std::iota(place.begin(), place.end(), 0U);
    std::shuffle(place.begin(), place.end(), dice);
    // Pair p goes to nodes 2 * place[p] + 1 and + 2; what is not written stays rubbish.
    Tree out{Nodes(2 * place.size() + 1, Node{0xDEADBEEF, 0xDEADBEEC}), {}, tree.bounds};
    const auto moved = [&](std::uint32_t i) {
        return i == 0 ? 0 : 2 * place[(i - 1) / 2] + 1 + (i - 1) % 2;
    };
    std::vector<std::uint32_t> order(tree.nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), dice);
    for (const std::uint32_t i : order) {
        Node node = tree.nodes[i];
        if (node.is_leaf()) {
            out.references.resize(out.references.size() + dice.below(3), 0xFFFFFFFFU);
            const auto first = out.references.size();
            out.references.insert(out.references.end(), tree.references.data() + node.first(),
                                  tree.references.data() + node.first() + node.count());
            std::shuffle(out.references.begin() + static_cast<std::ptrdiff_t>(first),
                         out.references.end(), dice);
            node = Node::leaf(static_cast<std::uint32_t>(first), node.count());
        } else {
            node = Node::inner(node.axis(), node.split(), moved(node.child()));
        }
        out.nodes[moved(i)] = node;
    }
    return out;
}

/// A canonical tree of random shape.
inline Tree random_tree(unsigned inner, Dice& dice) {
    Tree tree{{Node::leaf(0, 0)}, {}, kUnit};
    std::vector<std::uint32_t> leaves{0};
    for (unsigned i = 0; i < inner; ++i) {
        const std::size_t pick = dice.below(leaves.size());
        const auto child = static_cast<std::uint32_t>(tree.nodes.size());
        tree.nodes[leaves[pick]] =
            Node::inner(dice.below(3), static_cast<float>(dice.below(100)), child);
        leaves[pick] = child;
        leaves.push_back(child + 1);
        tree.nodes.resize(tree.nodes.size() + 2);
    }
    for (const std::uint32_t leaf : leaves) {
        const auto first = static_cast<std::uint32_t>(tree.references.size());
        tree.nodes[leaf] = Node::leaf(first, dice.below(5));
        for (unsigned i = 0; i < tree.nodes[leaf].count(); ++i) {
            tree.references.push_back(dice.below(1000));
        }
    }
    return canonical(tree.nodes, tree.references, tree.bounds);
}

}  // namespace heapwood::kdtree::tests
