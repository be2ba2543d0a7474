/// @file
/// An oracle for "does a triangle overlap a cell's interior", by separating axes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "kdtree/model/box.cuh"

namespace heapwood::kdtree::tests {

/// How far apart a triangle and a box are along the axis that separates them best; negative if
/// none does, and 0 if they only touch. The 13 axes are the normals of the box and the triangle
/// and the products of their edges, scaled to unit length. With integer coordinates of a few bits
/// the sign is exact.
inline double separation(const std::array<glm::vec3, 3>& corners, const Box& box) {
    using Vector = std::array<double, 3>;
    const auto vector = [](const glm::vec3& v) { return Vector{v.x, v.y, v.z}; };
    const auto minus = [](const Vector& a, const Vector& b) {
        return Vector{a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    };
    const auto cross = [](const Vector& a, const Vector& b) {
        return Vector{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                      a[0] * b[1] - a[1] * b[0]};
    };
    const std::array<Vector, 3> t{vector(corners[0]), vector(corners[1]), vector(corners[2])};
    const std::array<Vector, 3> edges{minus(t[1], t[0]), minus(t[2], t[1]), minus(t[0], t[2])};
    const Vector lo = vector(box.lo);
    const Vector hi = vector(box.hi);

    double best = -INFINITY;
    const auto try_axis = [&](const Vector& n) {
        const double length = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        if (length == 0) return;
        double box_lo = 0;
        double box_hi = 0;
        for (unsigned k = 0; k < 3; ++k) {
            box_lo += std::min(n[k] * lo[k], n[k] * hi[k]);
            box_hi += std::max(n[k] * lo[k], n[k] * hi[k]);
        }
        double t_lo = INFINITY;
        double t_hi = -INFINITY;
        for (const Vector& c : t) {
            const double d = n[0] * c[0] + n[1] * c[1] + n[2] * c[2];
            t_lo = std::min(t_lo, d);
            t_hi = std::max(t_hi, d);
        }
        best = std::max(best, std::max(t_lo - box_hi, box_lo - t_hi) / length);
    };
    const std::array<Vector, 3> units{Vector{1, 0, 0}, Vector{0, 1, 0}, Vector{0, 0, 1}};
    for (const Vector& unit : units) {
        try_axis(unit);
        for (const Vector& edge : edges) try_axis(cross(unit, edge));
    }
    try_axis(cross(edges[0], edges[1]));
    return best;
}

}  // namespace heapwood::kdtree::tests
