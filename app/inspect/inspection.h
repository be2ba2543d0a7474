/// @file
/// What a finished tree looks like inside: plain data, and how it is found.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/model/box.cuh"
#include "kdtree/tree/quality.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// The nodes of one depth. Costs are those of a random ray through the root's cell: parts of
/// Ct * I and Ci * P (see kdtree::Quality).
struct Level {
    std::uint64_t inner_nodes = 0;
    std::uint64_t leaves = 0;  ///< with references
    std::uint64_t empty_leaves = 0;
    std::uint64_t references = 0;
    double traversal_cost = 0;
    double intersection_cost = 0;
};

/// Leaves, or triangles, by a number from `from` to `to`.
struct Bucket {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t count = 0;
    std::uint64_t references = 0;
    double cost = 0;  ///< of leaves: Ci * their part of P
};

/// A leaf that costs much.
struct CostlyLeaf {
    std::uint32_t node = 0;
    std::uint32_t depth = 0;
    std::uint32_t references = 0;
    double cost = 0;  ///< Ci * its part of P
    kdtree::Box cell;
};

/// A triangle that is in many leaves.
struct SpreadTriangle {
    std::uint32_t triangle = 0;
    std::uint32_t leaves = 0;
};

/// A tree over the triangles of a scene.
struct Inspection {
    kdtree::Quality quality;
    std::vector<Level> levels;         ///< by depth
    std::vector<Bucket> leaf_sizes;    ///< 0, 1, 2, 3, 4, 5 to 8, 9 to 16, ...
    std::vector<Bucket> duplications;  ///< triangles by the leaves that they are in: the same steps
    std::vector<CostlyLeaf> costly_leaves;         ///< the worst first
    std::vector<SpreadTriangle> spread_triangles;  ///< the worst first
    double cost = 0;                               ///< Ct * I + Ci * P

    /// A part of the whole cost.
    double share(double part) const { return cost > 0 ? part / cost : 0; }
};

/// @param longest how many leaves, and triangles, are listed at most
/// @throws std::runtime_error if the tree is not canonical.
Inspection inspect(const kdtree::Tree& tree, std::uint64_t triangles, double traversal_cost,
                   double intersection_cost, std::size_t longest);

}  // namespace heapwood::app
