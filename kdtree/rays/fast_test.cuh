/// @file
/// A faster triangle test, for where a few wrong rays in a million do not matter.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/rounding.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree {

/// The test of Moeller & Trumbore: "Fast, Minimum Storage Ray/Triangle Intersection", Journal of
/// Graphics Tools 1997, in single precision. In place of TriangleTest it makes queries on a GPU up
/// to a tenth faster, and loses this:
///
/// - Triangles that share an edge are tested apart, so a ray may slip through between them. Of a
///   million random rays into a scene of rooms up to 92 had another outcome (measured; of 131,072
///   rays parallel to axes through corners, 1,397).
/// - t, u and v are off by more roundings the thinner the triangle and the flatter the ray, without
///   a bound; the traversal's margins are made for TriangleTest, so that a hit may be missed.
/// - Products overflow and underflow: coordinates and directions must be well within 2^-20 .. 2^20.
class FastTriangleTest {
public:
    HEAPWOOD_INLINE explicit FastTriangleTest(const Ray& ray)
        : origin_(ray.origin), direction_(ray.direction), t_min_(ray.t_min) {}

    /// As TriangleTest::meets.
    HEAPWOOD_INLINE bool meets(const CornerRow* rows, float limit, Hit& hit) const {
        return intersect(rows, hit) && hit.t >= t_min_ && hit.t <= limit;
    }
    /// As TriangleTest::locate.
    HEAPWOOD_INLINE void locate(const CornerRow* rows, Hit& hit) const {
        const float t = hit.t;
        intersect(rows, hit);
        hit.t = t;
    }

private:
    HEAPWOOD_INLINE static float dot(const glm::vec3& a, const glm::vec3& b) {
        return multiply_add(a.x, b.x, multiply_add(a.y, b.y, a.z * b.z));
    }
    HEAPWOOD_INLINE static glm::vec3 cross(const glm::vec3& a, const glm::vec3& b) {
        return {multiply_add(a.y, b.z, -(a.z * b.y)), multiply_add(a.z, b.x, -(a.x * b.z)),
                multiply_add(a.x, b.y, -(a.y * b.x))};
    }

    HEAPWOOD_INLINE bool intersect(const CornerRow* rows, Hit& hit) const {
        const CornerRow x = load_row(rows);
        const CornerRow y = load_row(rows + 1);
        const CornerRow z = load_row(rows + 2);
        const glm::vec3 ab{x.b - x.a, y.b - y.a, z.b - z.a};
        const glm::vec3 ac{x.c - x.a, y.c - y.a, z.c - z.a};
        const glm::vec3 from_a{origin_.x - x.a, origin_.y - y.a, origin_.z - z.a};
        const glm::vec3 p = cross(direction_, ac);
        const glm::vec3 q = cross(from_a, ab);
        const float inverse = 1 / dot(ab, p);
        hit.triangle = x.triangle;
        hit.u = dot(from_a, p) * inverse;
        hit.v = dot(direction_, q) * inverse;
        hit.t = dot(ac, q) * inverse + 0.0F;  // never -0
        return hit.u >= 0 && hit.v >= 0 && hit.u + hit.v <= 1;
    }

    glm::vec3 origin_;
    glm::vec3 direction_;
    float t_min_;
};

}  // namespace heapwood::kdtree
