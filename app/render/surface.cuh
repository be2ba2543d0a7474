/// @file
/// Where light meets a triangle.
#pragma once

#include <algorithm>

#include "app/render/vectors.cuh"
#include "kdtree/model/rounding.cuh"
#include "kdtree/model/triangle.cuh"
#include "scenes/scene.h"

namespace heapwood::app {

/// A triangle's normal of length 1, towards where its corners run against the clock; zero for a
/// triangle without area.
inline vec3 normal_of(const vec3& a, const vec3& b, const vec3& c) {
    const glm::dvec3 from(a);
    const glm::dvec3 normal = cross(glm::dvec3(b) - from, glm::dvec3(c) - from);
    return dot(normal, normal) > 0 ? vec3(unit(normal)) : vec3{0, 0, 0};
}

/// How far from a surface rays begin, so that they do not meet it again: a few times what the
/// coordinates of a hit may be off.
inline float offset_of(const scenes::Bounds& bounds) {
    float largest = 0;
    for (int k = 0; k < 3; ++k) {
        largest = std::max({largest, kdtree::size(bounds.lo[k]), kdtree::size(bounds.hi[k])});
    }
    return largest * 0x1p-18F;
}

/// The point of a hit, a little off the surface, and a frame there.
struct Surface {
    vec3 point;
    vec3 normal;  ///< of length 1, towards the ray's origin
    vec3 u;       ///< these two have length 1, and are at right angles to it
    vec3 v;

    /// A direction by its parts.
    HEAPWOOD_INLINE vec3 direction(const vec3& parts) const {
        return unit(normal * parts.z + (u * parts.x + v * parts.y));
    }
};

/// @param normal of the triangle; zero: taken from the ray
/// @param off how far from the surface the point is to lie
HEAPWOOD_INLINE Surface surface_at(const kdtree::Ray& ray, float t, vec3 normal, float off) {
    if (!(dot(normal, normal) > 0.5F)) normal = unit(-ray.direction);
    if (dot(normal, ray.direction) > 0) normal = -normal;
    const vec3 side = kdtree::size(normal.x) < 0.6F ? vec3{1, 0, 0} : vec3{0, 1, 0};
    const vec3 u = unit(cross(side, normal));
    return {ray.origin + ray.direction * t + normal * off, normal, u, cross(normal, u)};
}

}  // namespace heapwood::app
