/// @file
/// Distances through trees on a CPU; and the tests of triangles that they are made of.
#include <gtest/gtest.h>

#include "tests/kdtree/distance/distance_tests.h"

namespace heapwood::kdtree::tests {
namespace {

using Machines = ::testing::Types<DistanceHostThread, DistanceHostBatch>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, DistanceTest, Machines);

struct Rows : TriangleRows {
    Rows(const glm::vec3& a, const glm::vec3& b, const glm::vec3& c)
        : TriangleRows{{a.x, b.x, c.x, 0}, {a.y, b.y, c.y, 0}, {a.z, b.z, c.z, 0}} {}
};

TEST(NearestOnTriangle, KnowsFaceEdgesAndCorners) {
    const Rows t({0, 0, 0}, {4, 0, 0}, {0, 4, 0});
    const auto expect = [&](const glm::vec3& p, float distance, Feature feature, double u,
                            double v) {
        const NearestOnTriangle on = nearest_on_triangle(t, p);
        EXPECT_EQ(on.distance(), distance) << text(p);
        EXPECT_EQ(on.feature, feature) << text(p);
        EXPECT_EQ(on.u, u) << text(p);
        EXPECT_EQ(on.v, v) << text(p);
    };
    expect({1, 1, 3}, 3, Feature::face, 0.25, 0.25);
    expect({1, 2, -3}, 3, Feature::face, 0.25, 0.5);
    expect({1, -3, 4}, 5, Feature::edge_ab, 0.25, 0);
    expect({5, 5, 0}, std::sqrt(18.0F), Feature::edge_bc, 0.5, 0.5);
    expect({-3, 1, 4}, 5, Feature::edge_ca, 0, 0.25);
    expect({-3, -4, 0}, 5, Feature::corner_a, 0, 0);
    expect({7, -4, 0}, 5, Feature::corner_b, 1, 0);
    expect({-3, 8, 0}, 5, Feature::corner_c, 0, 1);
    expect({0, 0, 0}, 0, Feature::corner_a, 0, 0);
}

TEST(NearestOnTriangle, TakesTrianglesWithoutAreaForEdgesAndPoints) {
    const Rows segment({0, 0, 0}, {2, 0, 0}, {4, 0, 0});
    EXPECT_EQ(nearest_on_triangle(segment, {3, 4, 0}).distance(), 4);
    EXPECT_EQ(nearest_on_triangle(segment, {7, 4, 0}).distance(), 5);
    const Rows point({1, 2, 3}, {1, 2, 3}, {1, 2, 3});
    EXPECT_EQ(nearest_on_triangle(point, {1, 5, 7}).distance(), 5);
}

TEST(IsFarther, IsNeverWrongAndMostlyCertain) {
    Dice dice;
    unsigned farther = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < 200000; ++i) {
        const float scale = std::pow(2.0F, static_cast<float>(dice.integer(-60, 60)));
        const glm::vec3 a = dice.point(-1, 1) * scale;
        glm::vec3 b = dice.point(-1, 1) * scale;
        glm::vec3 c = dice.point(-1, 1) * scale;
        if (dice.below(4) == 0) c = b + dice.point(-1e-5F, 1e-5F) * scale;
        if (dice.below(4) == 0) b = a + (c - a) * dice.uniform(-1, 1);
        glm::vec3 p = dice.point(-2, 2) * scale;
        if (dice.below(4) == 0) p = a + (b - a) * 0.3F + (c - a) * 0.4F;
        if (dice.below(4) == 0) p += dice.point(-1e-4F, 1e-4F) * scale;
        const Rows t(a, b, c);
        const float far = nearest_on_triangle(t, p).distance();
        ASSERT_FALSE(is_farther(t, p, detail::square_limit(far)))
            << text(a) << text(b) << text(c) << text(p);
        const float nearer = far * 0.99F;
        // Certain where products neither overflow nor underflow.
        if (!(scale > 0x1p-16F && scale < 0x1p16F && far > 0)) continue;
        ++farther;
        known += is_farther(t, p, nearer * nearer) ? 1 : 0;
    }
    EXPECT_GT(known, farther / 2);
}

TEST(NearestOnTriangle, IsNotOverTheFaceOfASmallTriangleFarAway) {
    Dice dice;
    const Rows t({0, 0, 0}, {1, 0.25F, 0}, {0.5F, 1, 0});
    for (unsigned i = 0; i < 2000; ++i) {
        glm::vec3 p = dice.point(-1, 1) * std::pow(2.0F, dice.uniform(20, 60));
        p.z *= 1e-3F;
        const double truth = std::hypot(double{p.x}, double{p.y}, double{p.z});
        const float distance = nearest_on_triangle(t, p).distance();
        // The triangle has no point farther than 1.2 from the origin.
        ASSERT_NEAR(distance, truth, 1.2 + truth * 1e-6) << text(p);
    }
}

TEST(SquareLimit, IsExceededByNoSquareHoweverItIsRounded) {
    Dice dice;
    for (unsigned i = 0; i < 200000; ++i) {
        const glm::vec3 v =
            dice.point(-1, 1) * std::pow(2.0F, static_cast<float>(dice.integer(-80, 20)));
        const auto exact = glm::dvec3(v);
        const auto distance = static_cast<float>(
            std::sqrt(exact.x * exact.x + exact.y * exact.y + exact.z * exact.z));
        const float limit = detail::square_limit(distance);
        ASSERT_LE(v.x * v.x + (v.y * v.y + v.z * v.z), limit) << text(v);
        ASSERT_LT(limit, 1.001F * distance * distance + 0x1p-138F) << text(v);
    }
}

TEST(BoxRegion, IsClosed) {
    const Rows t({0, 0, 0}, {4, 0, 0}, {0, 4, 0});
    const auto meets = [&](const glm::vec3& lo, const glm::vec3& hi) {
        return BoxRegion{lo, hi}.meets(t);
    };
    EXPECT_TRUE(meets({-1, -1, -1}, {0, 0, 0})) << "at a corner";
    EXPECT_TRUE(meets({1, 1, 0}, {1.5F, 1.5F, 2})) << "on the face";
    EXPECT_TRUE(meets({2, 2, -1}, {5, 5, 1})) << "at an edge";
    EXPECT_TRUE(meets({2, 2, 0}, {2, 2, 0})) << "a point of an edge";
    EXPECT_FALSE(meets({2, std::nextafter(2.0F, 9.0F), -1}, {5, 5, 1})) << "beside it";
    EXPECT_FALSE(meets({1, 1, std::nextafter(0.0F, 1.0F)}, {1.5F, 1.5F, 2})) << "above it";
    EXPECT_TRUE(meets({-kNowhere, -kNowhere, 0}, {kNowhere, kNowhere, 0}));
}

TEST(Distance, OfATreeOfManyTriangles) {
    Dice dice;
    const auto scene = random_scene("soup", 200, dice());
    const RayTree rays(oracle_tree(scene, {}), scene);
    for (unsigned i = 0; i < 2000; ++i) {
        // The same point, in a radius as large as its distance, and in the next smaller one.
        const glm::vec3 p = random_point("around", scene, dice);
        const float far = distance(rays.view(), p);
        ASSERT_TRUE(any_in(rays.view(), Ball{p, far}));
        ASSERT_FALSE(any_in(rays.view(), Ball{p, std::nextafter(far, 0.0F)}));
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
