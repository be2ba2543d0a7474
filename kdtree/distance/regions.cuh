/// @file
/// Balls and boxes, and which triangles meet them.
#pragma once

#include "allocators/platform/macros.cuh"
#include "kdtree/distance/margins.cuh"
#include "kdtree/distance/triangle_point.cuh"

namespace heapwood::kdtree {

namespace detail {

/// The numbers between two values, or none if lo > hi.
struct Interval {
    double lo;
    double hi;

    HEAPWOOD_INLINE Interval(double a, double b) : lo(a < b ? a : b), hi(a < b ? b : a) {}
    HEAPWOOD_INLINE double farthest() const { return -lo < hi ? hi : -lo; }
    HEAPWOOD_INLINE Interval times(double by) const {
        return {rounded_product(lo, by), rounded_product(hi, by)};
    }
    HEAPWOOD_INLINE Interval plus(const Interval& other) const {
        return {lo + other.lo, hi + other.hi};
    }
    /// Whether it certainly has nothing in common with another, if both are off by `margin`.
    HEAPWOOD_INLINE bool is_apart(const Interval& other, double margin) const {
        return lo > other.hi + margin || hi < other.lo - margin;
    }
};

/// What a triangle's extent along an axis has in common with the numbers from `lo` to `hi`.
HEAPWOOD_INLINE glm::vec2 overlap(const CornerRow& row, float lo, float hi) {
    return {greater_number(lo, lesser_number(row.a, lesser_number(row.b, row.c))),
            lesser_number(hi, greater_number(row.a, greater_number(row.b, row.c)))};
}

/// What roundings of sums of products in double precision stay below, as a share of the products.
inline constexpr double kRounding = 0x1p-49;

}  // namespace detail

/// The triangles at most a radius away from a point, as floats tell distances. A point that is not
/// finite, and a radius below 0 or NaN, have none.
struct Ball {
    glm::vec3 center;
    float radius;

    HEAPWOOD_INLINE bool is_empty() const {
        return !(0 * center.x + 0 * center.y + 0 * center.z == 0) || !(radius >= 0);
    }
    /// A box around all points that may count.
    HEAPWOOD_INLINE Box reach(const Box& bounds) const {
        const auto wide = [&](float at) {
            return radius + (radius + size(at)) * 0x1p-20F + detail::aside(bounds) + 0x1p-140F;
        };
        const glm::vec3 w{wide(center.x), wide(center.y), wide(center.z)};
        return {center - w, center + w};
    }
    HEAPWOOD_INLINE bool meets(const TriangleRows& triangle) const {
        return !is_farther(triangle, center, detail::square_limit(radius)) &&
               nearest_on_triangle(triangle, center).distance() <= radius;
    }
};

/// The triangles that have a point in common with a closed box. Ends may be infinite. A box with
/// lo > hi along an axis, or NaN, has none.
///
/// By separating axes (Akenine-Moeller: "Fast 3D Triangle-Box Overlap Testing", JGT 2001), in
/// double precision. Along the box's own axes nothing is rounded. Along the others a triangle that
/// is apart by less than the rounding counts as meeting the box: a triangle beside the box by less
/// than 2^-48 of the distances between their corners, times the share of its area in theirs where
/// it is a sliver, may count; one that meets it always does.
struct BoxRegion {
    glm::vec3 lo;
    glm::vec3 hi;

    HEAPWOOD_INLINE bool is_empty() const {
        return !(lo.x <= hi.x && lo.y <= hi.y && lo.z <= hi.z);
    }
    HEAPWOOD_INLINE Box reach(const Box& bounds) const {
        return {lo - detail::aside(bounds), hi + detail::aside(bounds)};
    }
    HEAPWOOD_INLINE bool meets(const TriangleRows& triangle) const {
        const auto& [x, y, z] = triangle;
        // Corners of the triangle bound what counts of the box, so that its ends may be infinite.
        const glm::vec2 in_x = detail::overlap(x, lo.x, hi.x);
        const glm::vec2 in_y = detail::overlap(y, lo.y, hi.y);
        const glm::vec2 in_z = detail::overlap(z, lo.z, hi.z);
        if (!(in_x.x <= in_x.y && in_y.x <= in_y.y && in_z.x <= in_z.y)) return false;
        return meets_plane(x, y, z, in_x, in_y, in_z) && meets_outline(x, y, in_x, in_y) &&
               meets_outline(y, z, in_y, in_z) && meets_outline(z, x, in_z, in_x);
    }

private:
    /// Whether the triangle's plane may meet the box.
    HEAPWOOD_INLINE static bool meets_plane(const CornerRow& x, const CornerRow& y,
                                            const CornerRow& z, const glm::vec2& in_x,
                                            const glm::vec2& in_y, const glm::vec2& in_z) {
        const glm::dvec3 ab{double{x.b} - x.a, double{y.b} - y.a, double{z.b} - z.a};
        const glm::dvec3 ac{double{x.c} - x.a, double{y.c} - y.a, double{z.c} - z.a};
        const glm::dvec3 normal = detail::cross(ab, ac);
        const auto products = [](double a, double b, double c, double d) {
            return std::fabs(rounded_product(a, b)) + std::fabs(rounded_product(c, d));
        };
        const detail::Interval along_x(double{in_x.x} - x.a, double{in_x.y} - x.a);
        const detail::Interval along_y(double{in_y.x} - y.a, double{in_y.y} - y.a);
        const detail::Interval along_z(double{in_z.x} - z.a, double{in_z.y} - z.a);
        const detail::Interval above =
            along_x.times(normal.x).plus(along_y.times(normal.y)).plus(along_z.times(normal.z));
        const double sum = products(ab.y, ac.z, ab.z, ac.y) * along_x.farthest() +
                           products(ab.z, ac.x, ab.x, ac.z) * along_y.farthest() +
                           products(ab.x, ac.y, ab.y, ac.x) * along_z.farthest();
        return !above.is_apart({0, 0}, sum * detail::kRounding);
    }

    /// Whether triangle and box may meet as seen along an axis, where the box is a rectangle.
    HEAPWOOD_INLINE static bool meets_outline(const CornerRow& x, const CornerRow& y,
                                              const glm::vec2& in_x, const glm::vec2& in_y) {
        const auto meets_beside = [&](float from_x, float from_y, float to_x, float to_y,
                                      float third_x, float third_y) {
            const double way_x = double{to_x} - from_x;
            const double way_y = double{to_y} - from_y;
            const detail::Interval along_x(double{in_x.x} - from_x, double{in_x.y} - from_x);
            const detail::Interval along_y(double{in_y.x} - from_y, double{in_y.y} - from_y);
            const double third = rounded_product(way_x, double{third_y} - from_y) -
                                 rounded_product(way_y, double{third_x} - from_x);
            const detail::Interval left = along_y.times(way_x).plus(along_x.times(-way_y));
            const double sum =
                std::fabs(way_x) * (along_y.farthest() + std::fabs(double{third_y} - from_y)) +
                std::fabs(way_y) * (along_x.farthest() + std::fabs(double{third_x} - from_x));
            return !left.is_apart({0, third}, sum * detail::kRounding);
        };
        return meets_beside(x.a, y.a, x.b, y.b, x.c, y.c) &&
               meets_beside(x.b, y.b, x.c, y.c, x.a, y.a) &&
               meets_beside(x.c, y.c, x.a, y.a, x.b, y.b);
    }
};

}  // namespace heapwood::kdtree
