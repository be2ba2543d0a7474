/// @file
/// Rays through a finished tree, one at a time, in any kernel and on any thread of a CPU:
///
///     const kdtree::RayTree rays(tree, scene, allocators::Place::device);   // on the host
///     shade<<<blocks, threads>>>(rays.view(), ...);
///
///     __global__ void shade(kdtree::RayTreeView tree, ...) {
///         const kdtree::Ray ray{origin, direction, 0, INFINITY};
///         const kdtree::Hit first = kdtree::closest_hit(tree, ray);
///         const bool in_shadow = kdtree::any_hit(tree, {point, to_light, 0, 1});
///         kdtree::OrderedHits along(tree, ray);                  // ordered_hits.cuh
///         for (kdtree::Hit hit; along.next(hit);) { ... }        // front to back
///     }
///
/// ray_batch.h traces many rays at once, and faster.
///
/// Results are those of testing every triangle of the scene: bit for bit, on every machine, with
/// TriangleTest, which is the default. (g++ and clang need -ffp-contract=off for that where they
/// are allowed to use fused multiply-adds; heapwood::kdtree brings it. nvcc needs no option.)
/// FastTriangleTest of fast_test.cuh as the template's argument is faster and says what it loses.
/// Of hits at the same t the one in the triangle of the smallest number comes first. Both ends of a
/// ray belong to it; a hit at t_min or t_max counts. A triangle is met from both sides, on its
/// edges and at its corners, but not exactly edge-on, and not if it has no area. A ray that is not
/// valid (Ray::is_valid) meets nothing.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/rays/ray_query.cuh"

namespace heapwood::kdtree {

/// The triangle that the ray meets first, with t, u and v; or a Hit that is not found().
template <class Test = TriangleTest>
HEAPWOOD_FN inline Hit closest_hit(const RayTreeView& tree, const Ray& ray) {
    return answer<ClosestQuery<Test>>(tree, ray);
}

/// Whether the ray meets any triangle.
template <class Test = TriangleTest>
HEAPWOOD_FN inline bool any_hit(const RayTreeView& tree, const Ray& ray) {
    return answer<AnyQuery<Test>>(tree, ray) != 0;
}

}  // namespace heapwood::kdtree
