/// @file
/// What it takes to answer for one ray: for pictures of a tree's cost, and for figures.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/rays/ray_query.cuh"

namespace heapwood::kdtree {

/// The work of one walk. The same on every machine, bit for bit.
struct RayEffort {
    std::uint32_t nodes = 0;   ///< inner nodes whose plane was compared with the ray
    std::uint32_t leaves = 0;  ///< leaves with references that were visited
    std::uint32_t tests = 0;   ///< triangles that were tested
    /// Of the first hit, if there is any: the reference in whose leaf it was found.
    std::uint32_t reference = 0;
};

/// Counts the inner nodes of a walk.
class NodeCounter {
public:
    static constexpr bool kReproducible = true;

    HEAPWOOD_INLINE explicit NodeCounter(std::uint32_t& nodes) : nodes_(&nodes) {}
    HEAPWOOD_INLINE void step() { ++*nodes_; }

private:
    std::uint32_t* nodes_;
};

/// closest_hit of traversal.cuh, and what it took. Slower than that.
template <class Test = TriangleTest>
HEAPWOOD_FN inline Hit closest_hit(const RayTreeView& tree, const Ray& ray, RayEffort& effort) {
    OwnMemory::Storage storage;
    ClosestQuery<Test> query(ray);
    effort = {};
    if (ray.is_valid()) {
        RayWalk<OwnMemory, NodeCounter> walk(tree, ray, OwnMemory(storage),
                                             NodeCounter(effort.nodes));
        for (; walk.descend(tree, query.limit()); walk.leave(tree, query.limit())) {
            ++effort.leaves;
            effort.tests += walk.leaf().count();
            visit(tree, walk.leaf(), query);
        }
    }
    effort.reference = query.reference();
    return query.result(tree);
}

}  // namespace heapwood::kdtree
