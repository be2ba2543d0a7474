/// @file
/// On which side of a surface a point is, one point at a time, in any kernel and on any thread.
///
/// The sign is negative inside. Triangles wind counterclockwise as seen from outside.
///
/// By normals: the point's side of the pseudo-normal of the nearest point's face, edge or corner,
/// after Baerentzen & Aanaes: "Signed Distance Computation Using the Angle Weighted Pseudonormal",
/// IEEE TVCG 2005. Right for closed surfaces whose triangles all wind alike. Of an open surface it
/// is the side of its nearest part, and beyond a border that of the triangle at the border, as if
/// it went on: it changes somewhere in space. SignTable::open_edges says whether there are borders.
///
/// By crossings: odd numbers of triangles along at least two of three rays in fixed, skew
/// directions. Right for closed surfaces however their triangles wind, for points that are not
/// nearer to the surface than 2^-20 of the distance to its farthest corner, which is what rays can
/// tell (TriangleTest). Of an open surface it is what the rays say.
///
/// A point on the surface (at distance 0) is inside, and its signed distance is 0, either way. A
/// point without a nearest point (nearest.cuh) is outside, at infinity.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/distance/nearest.cuh"
#include "kdtree/distance/sign_view.cuh"
#include "kdtree/rays/ordered_hits.cuh"

namespace heapwood::kdtree {

/// Whether a point that is not on the surface is inside, by crossings.
HEAPWOOD_FN inline bool is_inside_by_crossings(const RayTreeView& tree, const glm::vec3& p) {
    const float infinity = platform::bits_float(0x7F800000U);
    const auto is_odd = [&](const glm::vec3& direction) {
        const Ray ray{p, direction, 0, infinity};
        return OrderedHits<>(tree, ray).count() % 2 == 1;
    };
    const bool first = is_odd({0.43952F, 0.63418F, 0.63609F});
    const bool second = is_odd({-0.71377F, 0.30441F, 0.63074F});
    return first == second ? first : is_odd({0.17733F, -0.86193F, 0.47503F});
}

/// The distance to the nearest point of all triangles, which is known, negative inside.
HEAPWOOD_FN inline float with_sign(const RayTreeView& tree, const SignView& signs,
                                   const glm::vec3& p, const Nearest& nearest) {
    if (!nearest.found() || nearest.distance == 0) return nearest.distance;
    bool inside = false;
    if (signs.normals == nullptr) {
        inside = is_inside_by_crossings(tree, p);
    } else if (nearest.feature == Feature::face) {
        inside = detail::dot(nearest.away, nearest.normal) < 0;
    } else {
        const auto feature = static_cast<std::uint32_t>(nearest.feature);
        const glm::vec3 normal = signs.normals[std::uint64_t{6} * nearest.triangle + (feature - 1)];
        inside = detail::dot(nearest.away, glm::dvec3(normal)) < 0;
    }
    return inside ? -nearest.distance : nearest.distance;
}

/// The distance to the nearest point of all triangles, negative inside.
HEAPWOOD_FN inline float signed_distance(const RayTreeView& tree, const SignView& signs,
                                         const glm::vec3& p) {
    return with_sign(tree, signs, p, closest_point(tree, p));
}

/// Whether a point is inside or on the surface.
HEAPWOOD_FN inline bool contains(const RayTreeView& tree, const SignView& signs,
                                 const glm::vec3& p) {
    if (signs.normals != nullptr) return signed_distance(tree, signs, p) <= 0;
    return distance(tree, p, 0) == 0 || is_inside_by_crossings(tree, p);
}

}  // namespace heapwood::kdtree
