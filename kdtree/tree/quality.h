/// @file
/// How good a finished tree is: its size, and its expected cost per ray.
#pragma once

#include <cstdint>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// Counts and costs of one tree.
///
/// With A(n) a cell's surface area, the probability that a random ray through the root's cell
/// passes through n is A(n)/A(root). I, L and P are the sums of it over the inner nodes, over the
/// leaves, and over the leaves times their number of references: the inner nodes, leaves and
/// triangle tests that a ray which hits nothing meets on average.
///
/// Where the root's cell has no area (all triangles on one axis-parallel line), the quotient of
/// the lengths takes its place, which is the limit for a cell of vanishing thickness; where all of
/// the scene is one point, every probability is 1.
struct Quality {
    std::uint64_t nodes = 0;         ///< inner nodes and leaves
    std::uint64_t leaves = 0;        ///< empty ones included
    std::uint64_t empty_leaves = 0;  ///< leaves without references
    std::uint64_t references = 0;    ///< from all leaves
    double references_per_triangle = 0;
    std::uint32_t max_depth = 0;     ///< of a leaf; a root that is a leaf: 0
    std::uint32_t largest_leaf = 0;  ///< most references of a leaf
    double I = 0;
    double L = 0;
    double P = 0;

    /// Expected cost of a ray that hits nothing: traversal_cost * I + intersection_cost * P. The
    /// builder's bonus for empty space has no part in it, so it compares trees of any builder.
    double sah(double traversal_cost, double intersection_cost) const {
        return traversal_cost * I + intersection_cost * P;
    }
};

/// Measures a canonical tree over `triangles` triangles, in double precision and from the root's
/// box downwards. The order of summation is fixed: equal trees give equal figures.
/// @throws std::runtime_error if the tree is not in canonical form.
Quality quality(const Tree& tree, std::uint64_t triangles);

}  // namespace heapwood::kdtree
