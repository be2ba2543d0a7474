/// @file
/// Visits a canonical tree's nodes in pre-order with their cells.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// Calls visit(number, cell, depth) for every node of a canonical tree in pre-order, the root at
/// depth 0. The cells are exact: each is the root's box cut by the planes above.
///
/// In canonical form every child pair and every leaf's references are where the previous ones end,
/// so to compare with a running count proves that each node and each reference is reached exactly
/// once, and that a walk through anything else ends.
///
/// @throws std::runtime_error saying which node is not in canonical form, when the walk gets there.
template <class Visit>
void walk(const Tree& tree, Visit&& visit) {
    struct Pending {
        std::uint32_t node;
        std::uint32_t depth;
        Box cell;
    };
    // Text is made for what is wrong only: there are millions of nodes.
    const auto fail = [](const std::string& what) {
        throw std::runtime_error("the tree is not in canonical form: " + what);
    };
    const auto text = [](std::uint64_t number) { return std::to_string(number); };

    if (tree.nodes.empty()) fail("it has no root");
    std::uint64_t nodes = 1;
    std::uint64_t references = 0;
    std::vector<Pending> stack{{0, 0, tree.bounds}};
    while (!stack.empty()) {
        const auto [number, depth, cell] = stack.back();
        stack.pop_back();
        const Node node = tree.nodes[number];
        if (node.is_leaf()) {
            if (node.first() != references) {
                fail("node " + text(number) + " has references from number " + text(node.first()) +
                     ", not " + text(references));
            }
            references += node.count();
            if (references > tree.references.size()) {
                fail("node " + text(number) + " has references up to number " + text(references) +
                     " of " + text(tree.references.size()));
            }
            visit(number, cell, depth);
            continue;
        }
        if (node.child() != nodes) {
            fail("node " + text(number) + " has children from " + text(node.child()) + ", not " +
                 text(nodes));
        }
        nodes += 2;
        if (nodes > tree.nodes.size()) {
            fail("node " + text(number) + " has child " + text(nodes - 1) + " of " +
                 text(tree.nodes.size()) + " nodes");
        }
        visit(number, cell, depth);
        Pending left{node.child(), depth + 1, cell};
        Pending right{node.child() + 1, depth + 1, cell};
        set_component(left.cell.hi, node.axis(), node.split());
        set_component(right.cell.lo, node.axis(), node.split());
        stack.push_back(right);
        stack.push_back(left);
    }
    if (nodes != tree.nodes.size()) {
        fail("only " + text(nodes) + " of its " + text(tree.nodes.size()) + " nodes are reached");
    }
    if (references != tree.references.size()) {
        fail("only " + text(references) + " of its " + text(tree.references.size()) +
             " references are reached");
    }
}

}  // namespace heapwood::kdtree
