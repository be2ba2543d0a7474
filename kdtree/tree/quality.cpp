/// @file
/// Sums over a finished tree.
#include "kdtree/tree/quality.h"

#include <algorithm>

#include "kdtree/tree/probability.h"
#include "kdtree/tree/walk.h"

namespace heapwood::kdtree {

Quality quality(const Tree& tree, std::uint64_t triangles) {
    Quality result;
    const Probability probability(tree.bounds);
    walk(tree, [&](std::uint32_t number, const Box& cell, std::uint32_t depth) {
        const Node node = tree.nodes[number];
        const double p = probability(cell);
        ++result.nodes;
        result.max_depth = std::max(result.max_depth, depth);
        if (!node.is_leaf()) {
            result.I += p;
            return;
        }
        ++result.leaves;
        result.empty_leaves += node.count() == 0;
        result.references += node.count();
        result.largest_leaf = std::max(result.largest_leaf, node.count());
        result.L += p;
        result.P += p * node.count();
    });
    if (triangles > 0) {
        result.references_per_triangle =
            static_cast<double>(result.references) / static_cast<double>(triangles);
    }
    return result;
}

}  // namespace heapwood::kdtree
