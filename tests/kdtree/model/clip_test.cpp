/// @file
/// The boxes of a triangle's parts against the exact parts, found by clipping polygons in extended
/// precision, far finer than a float's spacing.
#include "kdtree/model/clip.cuh"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {
namespace {

using Point = std::array<long double, 3>;
using Polygon = std::vector<Point>;

#if defined(__SANITIZE_THREAD__)
constexpr int kCases = 20000;
#else
constexpr int kCases = 200000;
#endif

Point point(const glm::vec3& v) {
    return {v.x, v.y, v.z};
}

/// The part of a polygon where sign * coordinate <= sign * bound.
Polygon clipped(const Polygon& polygon, unsigned axis, long double bound, int sign) {
    Polygon result;
    for (std::size_t i = 0; i < polygon.size(); ++i) {
        const Point& a = polygon[i];
        const Point& b = polygon[(i + 1) % polygon.size()];
        const bool a_in = sign * a[axis] <= sign * bound;
        const bool b_in = sign * b[axis] <= sign * bound;
        if (a_in) result.push_back(a);
        if (a_in != b_in) {
            const long double t = (bound - a[axis]) / (b[axis] - a[axis]);
            Point p;
            for (unsigned k = 0; k < 3; ++k) p[k] = a[k] + t * (b[k] - a[k]);
            p[axis] = bound;
            result.push_back(p);
        }
    }
    return result;
}

Polygon within_box(Polygon polygon, const Box& box) {
    for (unsigned k = 0; k < 3; ++k) {
        polygon = clipped(polygon, k, component(box.lo, k), -1);
        polygon = clipped(polygon, k, component(box.hi, k), 1);
    }
    return polygon;
}

/// A reference that a plane cuts.
struct Case {
    Triangle triangle;
    Box box;
    unsigned axis;
    float position;
    float size;  ///< of the largest coordinate, about
};

/// Triangles of several shapes, with a box that clips them as nodes further up would have.
Case random_case(Dice& dice) {
    for (;;) {
        Case c{};
        c.size = std::pow(10.0F, static_cast<float>(dice.integer(-30, 30)));
        const glm::vec3 at = dice.point(-1, 1);
        const float extent = dice.below(3) == 0 ? 1.0F : std::pow(0.1F, dice.uniform(0, 6));
        glm::vec3* corners[] = {&c.triangle.a, &c.triangle.b, &c.triangle.c};
        for (glm::vec3* corner : corners) *corner = at + dice.point(-extent, extent);
        const unsigned shape = dice.below(5);
        if (shape == 0) c.triangle.c = c.triangle.b + dice.point(-1e-6F, 1e-6F);
        if (shape == 1) c.triangle.c = c.triangle.b;
        if (shape == 2) {
            const unsigned flat = dice.below(3);
            for (glm::vec3* corner : corners) set_component(*corner, flat, component(at, flat));
        }
        for (glm::vec3* corner : corners) *corner *= c.size;

        const Reference whole = whole_reference(c.triangle, 0);
        c.box = {whole.lo, whole.hi};
        for (int cuts = dice.integer(0, 4); cuts > 0; --cuts) {
            const unsigned k = dice.below(3);
            const float lo = component(c.box.lo, k);
            const float hi = component(c.box.hi, k);
            const float cut = dice.uniform(lo, hi);
            if (cut < lo || cut > hi) continue;
            set_component(dice.below(2) == 0 ? c.box.lo : c.box.hi, k, cut);
        }
        c.axis = dice.below(3);
        const float lo = component(c.box.lo, c.axis);
        const float hi = component(c.box.hi, c.axis);
        // Through a corner, a float beside the end, or anywhere.
        const unsigned kind = dice.below(4);
        c.position = kind == 0   ? component(*corners[dice.below(3)], c.axis)
                     : kind == 1 ? std::nextafter(dice.below(2) == 0 ? lo : hi, 0.5F * (lo + hi))
                                 : dice.uniform(lo, hi);
        if (lo < c.position && c.position < hi) return c;
    }
}

Polygon corners_of(const Triangle& t) {
    return {point(t.a), point(t.b), point(t.c)};
}

void expect_contains(const Box& box, const Polygon& part, long double slack, int number) {
    for (const Point& p : part) {
        for (unsigned k = 0; k < 3; ++k) {
            ASSERT_GE(p[k], component(box.lo, k) - slack) << "case " << number << " axis " << k;
            ASSERT_LE(p[k], component(box.hi, k) + slack) << "case " << number << " axis " << k;
        }
    }
}

TEST(Clip, BoxesContainTheTrianglesParts) {
    Dice dice;
    int parts = 0;
    for (int i = 0; i < kCases; ++i) {
        const Case c = random_case(dice);
        Box below;
        Box above;
        clip(c.triangle, c.box, c.axis, c.position, below, above);
        const Polygon inside = within_box(corners_of(c.triangle), c.box);
        // A 2^-20th of a float's spacing.
        const long double slack = std::ldexp(static_cast<long double>(c.size), -44);
        const Polygon low = clipped(inside, c.axis, c.position, 1);
        const Polygon high = clipped(inside, c.axis, c.position, -1);
        parts += !low.empty() && !high.empty();
        expect_contains(below, low, slack, i);
        expect_contains(above, high, slack, i);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(parts, kCases / 4) << "most cases ought to have something to contain";
}

TEST(Clip, BoxesStayInsideAndMeetAtThePlane) {
    Dice dice;
    for (int i = 0; i < kCases; ++i) {
        const Case c = random_case(dice);
        Box part[2];
        clip(c.triangle, c.box, c.axis, c.position, part[0], part[1]);
        ASSERT_EQ(component(part[0].hi, c.axis), c.position) << "case " << i;
        ASSERT_EQ(component(part[1].lo, c.axis), c.position) << "case " << i;
        for (const Box& b : part) {
            for (unsigned k = 0; k < 3; ++k) {
                ASSERT_LE(component(c.box.lo, k), component(b.lo, k)) << "case " << i;
                ASSERT_LE(component(b.lo, k), component(b.hi, k)) << "case " << i;
                ASSERT_LE(component(b.hi, k), component(c.box.hi, k)) << "case " << i;
            }
        }
        // What the split was chosen by: the part on either side has an extent there.
        ASSERT_LT(component(part[0].lo, c.axis), c.position) << "case " << i;
        ASSERT_GT(component(part[1].hi, c.axis), c.position) << "case " << i;
    }
}

TEST(Clip, BoxesAreTight) {
    Dice dice;
    int tight = 0;
    for (int i = 0; i < kCases; ++i) {
        const Case c = random_case(dice);
        Box part[2];
        clip(c.triangle, c.box, c.axis, c.position, part[0], part[1]);
        // Twice what the crossings of the edges may be off.
        const long double slack = std::ldexp(static_cast<long double>(c.size), -18);
        const Polygon inside = within_box(corners_of(c.triangle), c.box);
        for (int side = 0; side < 2; ++side) {
            if (clipped(inside, c.axis, c.position, side == 0 ? 1 : -1).empty()) continue;
            const Polygon exact =
                clipped(corners_of(c.triangle), c.axis, c.position, side == 0 ? 1 : -1);
            for (unsigned k = 0; k < 3; ++k) {
                long double lo = exact[0][k];
                long double hi = exact[0][k];
                for (const Point& p : exact) {
                    lo = std::min(lo, p[k]);
                    hi = std::max(hi, p[k]);
                }
                lo = std::max(lo, static_cast<long double>(component(c.box.lo, k)));
                hi = std::min(hi, static_cast<long double>(component(c.box.hi, k)));
                ASSERT_GE(component(part[side].lo, k), lo - slack) << "case " << i;
                ASSERT_LE(component(part[side].hi, k), hi + slack) << "case " << i;
                tight += hi - lo < 0.5L * (static_cast<long double>(component(c.box.hi, k)) -
                                           component(c.box.lo, k));
            }
        }
    }
    EXPECT_GT(tight, kCases / 10) << "cutting boxes at the plane would pass this test too";
}

TEST(Clip, ByHand) {
    // A right triangle with its right angle at the origin, cut at x = 1.
    const Triangle t{{0, 0, 0}, 0, {4, 0, 0}, 0, {0, 4, 2}, 0};
    Box below;
    Box above;
    clip(t, {{0, 0, 0}, {4, 4, 2}}, 0, 1, below, above);
    EXPECT_EQ(below.lo, glm::vec3(0, 0, 0));
    EXPECT_EQ(below.hi, glm::vec3(1, 4, 2));
    EXPECT_EQ(above.lo, glm::vec3(1, 0, 0));
    EXPECT_EQ(above.hi.x, 4);
    EXPECT_NEAR(above.hi.y, 3, 1e-5);
    EXPECT_NEAR(above.hi.z, 1.5, 1e-5);
    EXPECT_GE(above.hi.y, 3);
    EXPECT_GE(above.hi.z, 1.5F);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
