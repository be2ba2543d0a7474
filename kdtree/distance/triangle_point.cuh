/// @file
/// How far a point is from a triangle, and where the triangle is nearest to it.
#pragma once

#include <cmath>
#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"
#include "kdtree/model/rounding.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree {

/// A triangle as a tree has it.
struct TriangleRows {
    CornerRow x;
    CornerRow y;
    CornerRow z;

    HEAPWOOD_INLINE std::uint32_t number() const { return x.triangle; }
    HEAPWOOD_INLINE glm::vec3 a() const { return {x.a, y.a, z.a}; }
    HEAPWOOD_INLINE glm::vec3 b() const { return {x.b, y.b, z.b}; }
    HEAPWOOD_INLINE glm::vec3 c() const { return {x.c, y.c, z.c}; }
};

HEAPWOOD_INLINE TriangleRows load_triangle(const CornerRow* rows) {
    return {load_row(rows), load_row(rows + 1), load_row(rows + 2)};
}

/// The part of a triangle that a nearest point lies in.
enum class Feature : std::uint32_t {
    face,
    edge_ab,
    edge_bc,
    edge_ca,
    corner_a,
    corner_b,
    corner_c
};

/// The point of a triangle that is nearest to p: (1 - u - v) a + u b + v c.
struct NearestOnTriangle {
    double squared;  ///< the distance, squared
    double u;
    double v;
    glm::dvec3 away;    ///< from there to p
    glm::dvec3 normal;  ///< of the face, as long as twice its area; zeros: it has none
    Feature feature;

    HEAPWOOD_INLINE float distance() const { return static_cast<float>(std::sqrt(squared)); }
};

namespace detail {

/// Each product is rounded by itself, so that all machines have the same bits.
HEAPWOOD_INLINE double dot(const glm::dvec3& a, const glm::dvec3& b) {
    return rounded_product(a.x, b.x) + rounded_product(a.y, b.y) + rounded_product(a.z, b.z);
}
HEAPWOOD_INLINE glm::dvec3 cross(const glm::dvec3& a, const glm::dvec3& b) {
    return {rounded_product(a.y, b.z) - rounded_product(a.z, b.y),
            rounded_product(a.z, b.x) - rounded_product(a.x, b.z),
            rounded_product(a.x, b.y) - rounded_product(a.y, b.x)};
}
HEAPWOOD_INLINE glm::dvec3 scaled(const glm::dvec3& v, double by) {
    return {rounded_product(v.x, by), rounded_product(v.y, by), rounded_product(v.z, by)};
}
/// How far p, seen from an edge's first end, is along the edge: 0 to 1. 0 of an edge that is a
/// point.
HEAPWOOD_INLINE double along(const glm::dvec3& edge, const glm::dvec3& p) {
    const double far = dot(edge, edge);
    const double near = dot(edge, p);
    if (!(near > 0)) return 0;
    return near < far ? near / far : 1;
}

}  // namespace detail

/// The nearest point, in double precision. Differences of floats, and products of these, are exact
/// there unless their exponents differ much, and no intermediate result overflows or underflows.
/// The distance is off by less than 2^-48 of itself, and of the triangle's largest distance to p.
///
/// The face counts if p is over its inside: where all three edge functions are positive, each from
/// an end of its own edge, so that the signs hold for far points and slivers. Otherwise the nearest
/// of the three edges counts, whatever the signs say; so a triangle without area is its edges, or
/// a point.
HEAPWOOD_INLINE NearestOnTriangle nearest_on_triangle(const TriangleRows& triangle,
                                                      const glm::vec3& p) {
    const auto from_to = [](const glm::vec3& from, const glm::vec3& to) {
        return glm::dvec3(to) - glm::dvec3(from);
    };
    const glm::dvec3 to_a = from_to(p, triangle.a());
    const glm::dvec3 to_b = from_to(p, triangle.b());
    const glm::dvec3 to_c = from_to(p, triangle.c());
    const glm::dvec3 ab = from_to(triangle.a(), triangle.b());
    const glm::dvec3 bc = from_to(triangle.b(), triangle.c());
    const glm::dvec3 ca = from_to(triangle.c(), triangle.a());

    NearestOnTriangle nearest;
    nearest.normal = detail::cross(bc, ca);
    const double area = detail::dot(nearest.normal, nearest.normal);
    const double at_a = detail::dot(nearest.normal, detail::cross(to_b, bc));
    const double at_b = detail::dot(nearest.normal, detail::cross(to_c, ca));
    const double at_c = detail::dot(nearest.normal, detail::cross(to_a, ab));
    if (area > 0 && at_a > 0 && at_b > 0 && at_c > 0) {
        const double height = -detail::dot(nearest.normal, to_a);
        nearest.squared = rounded_product(height, height) / area;
        nearest.u = at_b / area;
        nearest.v = at_c / area;
        nearest.away = detail::scaled(nearest.normal, height / area);
        nearest.feature = Feature::face;
        return nearest;
    }

    nearest.squared = -1;
    const auto edge = [&](const glm::dvec3& from, const glm::dvec3& way, const glm::dvec3& to,
                          unsigned number) {
        const double t = detail::along(way, -from);
        const glm::dvec3 away = t <= 0 ? -from : t < 1 ? -(from + detail::scaled(way, t)) : -to;
        const double squared = detail::dot(away, away);
        if (nearest.squared >= 0 && !(squared < nearest.squared)) return;
        nearest.squared = squared;
        nearest.away = away;
        nearest.u = number == 0 ? t : number == 1 ? 1 - t : 0;
        nearest.v = number == 1 ? t : number == 2 ? 1 - t : 0;
        const unsigned next = number == 2 ? 0 : number + 1;
        nearest.feature = static_cast<Feature>(t <= 0 ? 4 + number : t < 1 ? 1 + number : 4 + next);
    };
    edge(to_a, ab, to_b, 0);
    edge(to_b, bc, to_c, 1);
    edge(to_c, ca, to_a, 2);
    return nearest;
}

/// Whether a triangle is certainly farther from p than a distance of which `limit` is at least the
/// square: then nothing need be computed in double precision.
///
/// Finds a point q near the nearest one in single precision, with p as the origin. The plane
/// through q at right angles to q has p on one side; if all corners are on the other, at least at a
/// distance d, so is the triangle. This holds however wrong q is, as for slivers. The margin
/// exceeds the rounding of d: 2^-21 of the farthest corner's distance, by which d is off at most 6
/// times 2^-24. Nothing is certain where products overflow, or underflow.
HEAPWOOD_INLINE bool is_farther(const TriangleRows& triangle, const glm::vec3& p, float limit) {
    const auto dot = [](const glm::vec3& v, const glm::vec3& w) {
        return multiply_add(v.x, w.x, multiply_add(v.y, w.y, v.z * w.z));
    };
    const glm::vec3 a = triangle.a() - p;
    const glm::vec3 b = triangle.b() - p;
    const glm::vec3 c = triangle.c() - p;
    const glm::vec3 ab = triangle.b() - triangle.a();
    const glm::vec3 ac = triangle.c() - triangle.a();
    const float ab_a = -dot(ab, a);
    const float ac_a = -dot(ac, a);
    const float ab_b = -dot(ab, b);
    const float ac_b = -dot(ac, b);
    const float ab_c = -dot(ab, c);
    const float ac_c = -dot(ac, c);
    float u = 0;
    float v = 0;
    const float at_c = ab_a * ac_b - ab_b * ac_a;
    const float at_b = ab_c * ac_a - ab_a * ac_c;
    const float at_a = ab_b * ac_c - ab_c * ac_b;
    if (ab_a <= 0 && ac_a <= 0) {
        // a is nearest
    } else if (ab_b >= 0 && ac_b <= ab_b) {
        u = 1;
    } else if (ac_c >= 0 && ab_c <= ac_c) {
        v = 1;
    } else if (at_c <= 0 && ab_a >= 0 && ab_b <= 0) {
        u = ab_a / (ab_a - ab_b);
    } else if (at_b <= 0 && ac_a >= 0 && ac_c <= 0) {
        v = ac_a / (ac_a - ac_c);
    } else if (at_a <= 0 && ac_b >= ab_b && ab_c >= ac_c) {
        v = (ac_b - ab_b) / ((ac_b - ab_b) + (ab_c - ac_c));
        u = 1 - v;
    } else {
        const float per_area = 1 / (at_a + at_b + at_c);
        u = at_b * per_area;
        v = at_c * per_area;
    }
    const glm::vec3 q{multiply_add(ab.x, u, multiply_add(ac.x, v, a.x)),
                      multiply_add(ab.y, u, multiply_add(ac.y, v, a.y)),
                      multiply_add(ab.z, u, multiply_add(ac.z, v, a.z))};
    const float far = dot(q, q);
    const float ahead = lesser_number(dot(q, a), lesser_number(dot(q, b), dot(q, c)));
    const float farthest = greater_number(dot(a, a), greater_number(dot(b, b), dot(c, c)));
    // (d + m)^2 is at most (1 + 2^-14) d^2 + (1 + 2^14) m^2.
    const float bound = multiply_add(limit, 1 + 0x1p-13F, farthest * 0x1p-27F);
    const bool certain = far > 0x1p-100F && ahead > 0x1p-50F && ahead < 0x1p50F;
    return certain && ahead * ahead > far * bound;
}

}  // namespace heapwood::kdtree
