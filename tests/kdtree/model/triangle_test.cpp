/// @file
/// A ray and one triangle.
#include "kdtree/model/triangle.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <glm/geometric.hpp>
#include <limits>

#include "kdtree/rays/fast_test.cuh"
#include "tests/kdtree/brute_force.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/model/meetings.h"

namespace heapwood::kdtree {
namespace {

using tests::Dice;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class Test = TriangleTest>
Hit one(const Ray& ray, const glm::vec3& a, const glm::vec3& b, const glm::vec3& c) {
    const auto rows = tests::rows_of({ray, a, b, c});
    const Test test(ray);
    Hit hit{};
    if (!test.meets(rows.data(), ray.t_max, hit)) return {};
    test.locate(rows.data(), hit);
    return hit;
}

/// Compares with double precision; returns the number of hits.
template <class Make>
unsigned decide(Dice& dice, const Make& make, unsigned rounds) {
    unsigned hits = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        const auto [ray, a, b, c] = make(dice);
        if (!ray.is_valid()) continue;
        Hit wanted{};
        if (tests::DoubleTriangleTest(ray)(a, b, c, wanted)) wanted.triangle = 0;
        const Hit hit = one(ray, a, b, c);
        EXPECT_EQ(hit.found(), wanted.found()) << "round " << i;
        if (hit.found()) {
            EXPECT_EQ(hit.t, wanted.t) << "round " << i;
            EXPECT_EQ(hit.u, wanted.u) << "round " << i;
            EXPECT_EQ(hit.v, wanted.v) << "round " << i;
        }
        if (testing::Test::HasFailure()) break;
        hits += hit.found();
    }
    return hits;
}

TEST(TriangleTest, DecidesAsDoublePrecisionDoes) {
    Dice dice;
    EXPECT_GT(decide(dice, tests::any_meeting, 2000000), 10000U);
}

TEST(TriangleTest, DecidesAsDoublePrecisionDoesWhereAreasUnderflow) {
    Dice dice;
    EXPECT_GT(decide(dice, tests::meeting_of_tiny_areas, 500000), 10000U);
}

TEST(TriangleTest, DecidesAsDoublePrecisionDoesWhereDistancesUnderflow) {
    Dice dice;
    EXPECT_GT(decide(dice, tests::meeting_of_tiny_distances, 500000), 10000U);
}

TEST(TriangleTest, ByHand) {
    const glm::vec3 a{0, 0, 2}, b{4, 0, 2}, c{0, 4, 2};
    const Hit hit = one({{1, 2, 0}, {0, 0, 4}, 0, 10}, a, b, c);
    ASSERT_TRUE(hit.found());
    EXPECT_EQ(hit.t, 0.5F);
    EXPECT_EQ(hit.u, 0.25F);
    EXPECT_EQ(hit.v, 0.5F);
    EXPECT_TRUE(one({{1, 2, 0}, {0, 0, 4}, 0, 10}, a, c, b).found()) << "from the other side";
    EXPECT_TRUE(one({{1, 2, 4}, {0, 0, -1}, 0, 10}, a, b, c).found());
    EXPECT_TRUE(one({{1, 2, 0}, {0, 0, 4}, 0.5F, 0.5F}, a, b, c).found()) << "both ends";
    EXPECT_FALSE(one({{1, 2, 0}, {0, 0, 4}, 0, 0.49F}, a, b, c).found());
    EXPECT_FALSE(one({{1, 2, 0}, {0, 0, 4}, 0.51F, 9}, a, b, c).found());
    EXPECT_FALSE(one({{1, 2, 0}, {0, 0, -4}, 0, 10}, a, b, c).found());
    EXPECT_FALSE(one({{3, 2, 0}, {0, 0, 4}, 0, 10}, a, b, c).found());
    for (const glm::vec3& corner : {a, b, c}) {
        EXPECT_TRUE(one({{corner.x, corner.y, 0}, {0, 0, 1}, 0, 10}, a, b, c).found());
    }
    EXPECT_TRUE(one({{2, 2, 0}, {0, 0, 1}, 0, 10}, a, b, c).found()) << "on the edge";
    EXPECT_FALSE(one({{-1, 1, 2}, {1, 0, 0}, 0, 10}, a, b, c).found()) << "edge-on";
    EXPECT_FALSE(one({{1, 0, 0}, {0, 0, 1}, 0, 10}, a, b, b).found()) << "no area";
    EXPECT_FALSE(one({{0, 0, 0}, {0, 0, 1}, 0, 10}, a, a, a).found());
}

TEST(TriangleTest, HitsAreNearTheTriangle) {
    // Also where it is thin, or seen almost edge-on: no hit may lie beyond its ends.
    Dice dice;
    double worst = 0;
    unsigned hits = 0;
    for (unsigned i = 0; i < 200000; ++i) {
        const glm::vec3 a = dice.point(-1, 1);
        const glm::vec3 b = dice.point(-1, 1);
        const float thin = std::ldexp(1.0F, -dice.integer(2, 30));
        const glm::vec3 c = a + dice.uniform(0, 1) * (b - a) + dice.point(-thin, thin);
        const glm::vec3 on_line = a + dice.uniform(-2, 3) * (b - a);
        const glm::vec3 from = dice.point(-2, 2);
        const Ray ray{from, on_line - from, 0, kInfinity};
        const Hit hit = one(ray, a, b, c);
        if (!hit.found()) continue;
        ++hits;
        for (int k = 0; k < 3; ++k) {
            const double on_ray = double{from[k]} + double{hit.t} * double{ray.direction[k]};
            const double in_triangle = double{a[k]} + double{hit.u} * (double{b[k]} - a[k]) +
                                       double{hit.v} * (double{c[k]} - a[k]);
            worst = std::max(worst, std::abs(on_ray - in_triangle));
        }
    }
    EXPECT_GT(hits, 100U);
    EXPECT_LT(worst, 3 * 0x1p-19);
}

TEST(FastTriangleTest, MeetsWhatIsMetInTheMiddle) {
    Dice dice;
    unsigned hits = 0;
    for (unsigned i = 0; i < 100000; ++i) {
        const glm::vec3 a = dice.point(-1, 1), b = dice.point(-1, 1), c = dice.point(-1, 1);
        const glm::vec3 from = dice.point(-2, 2);
        const Ray ray{from, dice.point(-1, 1) - from, 0, kInfinity};
        if (!ray.is_valid()) continue;
        const Hit wanted = one(ray, a, b, c);
        const Hit hit = one<FastTriangleTest>(ray, a, b, c);
        // Near an edge, and where the triangle is seen from the side, it may be wrong.
        const glm::vec3 normal = glm::cross(b - a, c - a);
        const float facing = std::abs(glm::dot(normal, glm::normalize(ray.direction)));
        if (facing < 0.01F) continue;
        if (hit.found() && std::min({hit.u, hit.v, 1 - hit.u - hit.v}) > 0.001F) {
            ASSERT_TRUE(wanted.found());
        }
        if (!wanted.found() || std::min({wanted.u, wanted.v, 1 - wanted.u - wanted.v}) < 0.001F) {
            continue;
        }
        ++hits;
        ASSERT_TRUE(hit.found());
        ASSERT_NEAR(hit.t, wanted.t, 1e-3F);
        ASSERT_NEAR(hit.u, wanted.u, 1e-3F);
        ASSERT_NEAR(hit.v, wanted.v, 1e-3F);
    }
    EXPECT_GT(hits, 1000U);
}

}  // namespace
}  // namespace heapwood::kdtree
