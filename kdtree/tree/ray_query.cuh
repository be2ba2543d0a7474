/// @file
/// What a walk is for: the state of a query between leaves.
///
/// A query has `limit()`, the largest t that is still of interest; `visit(tree, leaf)`, which tests
/// a leaf's triangles and says whether to go on; and `result(tree)`, after the walk.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/tree/ray_walk.cuh"

namespace heapwood::kdtree {

/// The first hit; among several at the same t the one in the triangle of the smallest number.
template <class Test>
class ClosestQuery {
public:
    using Result = Hit;

    HEAPWOOD_INLINE explicit ClosestQuery(const Ray& ray) : test_(ray), t_(ray.t_max) {}

    HEAPWOOD_INLINE float limit() const { return t_; }
    HEAPWOOD_INLINE bool visit(const RayTreeView& tree, const RayNode& leaf) {
        const std::uint32_t end = leaf.first() + leaf.count();
        for (std::uint32_t i = leaf.first(); i < end; ++i) {
            Hit hit;
            if (!test_.meets(tree.triangle(i), t_, hit)) continue;
            if (hit.t < t_ || hit.triangle < triangle_) {
                t_ = hit.t;
                triangle_ = hit.triangle;
                reference_ = i;
            }
        }
        return true;
    }
    HEAPWOOD_INLINE Hit result(const RayTreeView& tree) const {
        Hit hit{t_, triangle_, 0, 0};
        if (hit.found()) test_.locate(tree.triangle(reference_), hit);
        return hit;
    }
    /// Of the first hit, if there is any, the reference that led to it: says in which leaf.
    HEAPWOOD_INLINE std::uint32_t reference() const { return reference_; }

private:
    Test test_;
    float t_;
    std::uint32_t triangle_ = Hit::kNone;
    std::uint32_t reference_ = 0;
};

/// Whether there is any hit: 1 or 0.
template <class Test>
class AnyQuery {
public:
    using Result = std::uint32_t;

    HEAPWOOD_INLINE explicit AnyQuery(const Ray& ray) : test_(ray), t_max_(ray.t_max) {}

    HEAPWOOD_INLINE float limit() const { return t_max_; }
    HEAPWOOD_INLINE bool visit(const RayTreeView& tree, const RayNode& leaf) {
        const std::uint32_t end = leaf.first() + leaf.count();
        for (std::uint32_t i = leaf.first(); found_ == 0 && i < end; ++i) {
            Hit hit;
            if (test_.meets(tree.triangle(i), t_max_, hit)) found_ = 1;
        }
        return found_ == 0;
    }
    HEAPWOOD_INLINE std::uint32_t result(const RayTreeView&) const { return found_; }

private:
    Test test_;
    float t_max_;
    std::uint32_t found_ = 0;
};

/// The result of a query for one ray.
template <class Query, class Stack>
HEAPWOOD_INLINE typename Query::Result answer(const RayTreeView& tree, const Ray& ray,
                                              Stack stack) {
    Query query(ray);
    if (ray.is_valid()) {
        RayWalk<Stack> walk(tree, ray, stack);
        while (walk.descend(tree, query.limit()) && query.visit(tree, walk.leaf())) {
            walk.leave(tree, query.limit());
        }
    }
    return query.result(tree);
}

}  // namespace heapwood::kdtree
