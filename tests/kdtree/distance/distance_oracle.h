/// @file
/// Oracles for distances: every triangle, one after the other, in long double precision, by other
/// formulas than the library's.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

using Exact = glm::vec<3, long double>;
using Corners = std::array<Exact, 3>;

inline Corners corners_of(const scenes::Scene& scene, std::size_t triangle) {
    const glm::uvec3 t = scene.triangles[triangle];
    return {Exact(scene.positions[t.x]), Exact(scene.positions[t.y]), Exact(scene.positions[t.z])};
}

inline long double length(const Exact& v) {
    return std::hypot(v.x, v.y, v.z);
}
inline long double product(const Exact& a, const Exact& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline Exact normal_of(const Corners& c) {
    const Exact ab = c[1] - c[0];
    const Exact ac = c[2] - c[0];
    return {ab.y * ac.z - ab.z * ac.y, ab.z * ac.x - ab.x * ac.z, ab.x * ac.y - ab.y * ac.x};
}

inline long double distance_to_segment(const Exact& a, const Exact& b, const Exact& p) {
    const long double whole = length(b - a);
    if (whole == 0) return length(p - a);
    const Exact way = (b - a) / whole;
    return length(p - a - way * std::clamp(product(p - a, way), 0.0L, whole));
}

/// By its edges; and by its plane, in coordinates along ab and at right angles to it, if p is over
/// the inside.
inline long double distance_by_force(const Corners& c, const Exact& p) {
    long double least =
        std::min({distance_to_segment(c[0], c[1], p), distance_to_segment(c[1], c[2], p),
                  distance_to_segment(c[2], c[0], p)});
    const Exact normal = normal_of(c);
    if (length(normal) == 0) return least;
    const long double base = length(c[1] - c[0]);
    const Exact along = (c[1] - c[0]) / base;
    const Exact up = (c[2] - c[0]) - along * product(c[2] - c[0], along);
    const long double high = length(up);
    const long double y = product(p - c[0], up / high) / high;  // 0 at ab, 1 at c
    const long double x = (product(p - c[0], along) - y * product(c[2] - c[0], along)) / base;
    if (x > 0 && y > 0 && x + y < 1) {
        least = std::min(least, std::abs(product(p - c[0], normal / length(normal))));
    }
    return least;
}

inline long double distance_by_force(const scenes::Scene& scene, const Exact& p) {
    long double least = INFINITY;
    for (std::size_t i = 0; i < scene.triangles.size(); ++i) {
        least = std::min(least, distance_by_force(corners_of(scene, i), p));
    }
    return least;
}

/// How often the surface goes around p, by the solid angles of its triangles (van Oosterom &
/// Strackee 1983), in double precision.
inline double winding_number(const scenes::Scene& scene, const glm::vec3& p) {
    const auto dot = [](const glm::dvec3& a, const glm::dvec3& b) {
        return a.x * b.x + a.y * b.y + a.z * b.z;
    };
    double sum = 0;
    for (const glm::uvec3& t : scene.triangles) {
        const glm::dvec3 to_a = glm::dvec3(scene.positions[t.x]) - glm::dvec3(p);
        const glm::dvec3 to_b = glm::dvec3(scene.positions[t.y]) - glm::dvec3(p);
        const glm::dvec3 to_c = glm::dvec3(scene.positions[t.z]) - glm::dvec3(p);
        const double a = std::sqrt(dot(to_a, to_a));
        const double b = std::sqrt(dot(to_b, to_b));
        const double c = std::sqrt(dot(to_c, to_c));
        const glm::dvec3 across{to_b.y * to_c.z - to_b.z * to_c.y,
                                to_b.z * to_c.x - to_b.x * to_c.z,
                                to_b.x * to_c.y - to_b.y * to_c.x};
        sum += std::atan2(dot(to_a, across), a * b * c + dot(to_a, to_b) * c + dot(to_b, to_c) * a +
                                                 dot(to_c, to_a) * b);
    }
    return sum / (2 * std::numbers::pi);
}

/// Whether a triangle reaches into a closed box that is larger by `margin` on all sides: what is
/// left of it when the six sides have cut it.
inline bool reaches_box(const Corners& c, const Exact& lo, const Exact& hi, long double margin) {
    std::vector<Exact> polygon(c.begin(), c.end());
    for (int side = 0; side < 6; ++side) {
        const int axis = side / 2;
        const auto inside = [&](const Exact& v) {
            return side % 2 == 0 ? v[axis] - (lo[axis] - margin) : (hi[axis] + margin) - v[axis];
        };
        std::vector<Exact> kept;
        for (std::size_t i = 0; i < polygon.size(); ++i) {
            const Exact& from = polygon[i];
            const Exact& to = polygon[(i + 1) % polygon.size()];
            const long double at_from = inside(from);
            const long double at_to = inside(to);
            if (at_from >= 0) kept.push_back(from);
            if ((at_from > 0 && at_to < 0) || (at_from < 0 && at_to > 0)) {
                kept.push_back(from + (to - from) * (at_from / (at_from - at_to)));
            }
        }
        polygon = kept;
    }
    return !polygon.empty();
}

}  // namespace heapwood::kdtree::tests
