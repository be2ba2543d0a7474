/// @file
/// Visits a canonical tree's nodes in pre-order with their cells.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kdtree/tree.h"

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
    const auto check = [](bool good, const std::string& what) {
        if (!good) throw std::runtime_error("the tree is not in canonical form: " + what);
    };
    const auto name = [](std::uint32_t node) { return "node " + std::to_string(node); };

    check(!tree.nodes.empty(), "it has no root");
    std::uint64_t nodes = 1;
    std::uint64_t references = 0;
    std::vector<Pending> stack{{0, 0, tree.bounds}};
    while (!stack.empty()) {
        const auto [number, depth, cell] = stack.back();
        stack.pop_back();
        const Node node = tree.nodes[number];
        if (node.is_leaf()) {
            check(node.first() == references, name(number) + " has references from number " +
                                                  std::to_string(node.first()) + ", not " +
                                                  std::to_string(references));
            references += node.count();
            check(references <= tree.references.size(),
                  name(number) + " has references up to number " + std::to_string(references) +
                      " of " + std::to_string(tree.references.size()));
            visit(number, cell, depth);
            continue;
        }
        check(node.child() == nodes, name(number) + " has children from " +
                                         std::to_string(node.child()) + ", not " +
                                         std::to_string(nodes));
        nodes += 2;
        check(nodes <= tree.nodes.size(), name(number) + " has child " + std::to_string(nodes - 1) +
                                              " of " + std::to_string(tree.nodes.size()) +
                                              " nodes");
        visit(number, cell, depth);
        Pending left{node.child(), depth + 1, cell};
        Pending right{node.child() + 1, depth + 1, cell};
        set_component(left.cell.hi, node.axis(), node.split());
        set_component(right.cell.lo, node.axis(), node.split());
        stack.push_back(right);
        stack.push_back(left);
    }
    check(nodes == tree.nodes.size(), "only " + std::to_string(nodes) + " of its " +
                                          std::to_string(tree.nodes.size()) + " nodes are reached");
    check(references == tree.references.size(), "only " + std::to_string(references) + " of its " +
                                                    std::to_string(tree.references.size()) +
                                                    " references are reached");
}

}  // namespace heapwood::kdtree
