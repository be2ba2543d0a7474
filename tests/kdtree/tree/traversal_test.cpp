/// @file
/// Rays through trees find exactly what testing every triangle finds.
#include "kdtree/tree/traversal.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "tests/kdtree/brute_force.h"
#include "tests/kdtree/reference_builder.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/kdtree/tree/rays.h"

namespace heapwood::kdtree {
namespace {

using tests::Dice;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string text(const glm::vec3& v) {
    std::ostringstream out;
    out << std::hexfloat << '(' << v.x << ", " << v.y << ", " << v.z << ')';
    return out.str();
}

void compare(const scenes::Scene& scene, const Tree& tree, const Ray& ray, const char* what,
             unsigned& hits) {
    const TreeView view = tests::view(tree, scene);
    const Hit expected = tests::closest_hit_by_force(scene, ray);
    const Hit found = closest_hit(view, ray);
    hits += expected.found();
    ASSERT_EQ(found.triangle, expected.triangle)
        << what << " in " << scene.path << " from " << text(ray.origin) << " along "
        << text(ray.direction) << " expected t " << expected.t << ", found " << found.t;
    ASSERT_EQ(any_hit(view, ray), expected.found()) << what;
    if (!expected.found()) return;
    ASSERT_EQ(found.t, expected.t) << what;
    ASSERT_EQ(found.u, expected.u) << what;
    ASSERT_EQ(found.v, expected.v) << what;

    // The end of a ray belongs to it, and what lies beyond does not.
    Ray until = ray;
    until.t_max = expected.t;
    ASSERT_EQ(closest_hit(view, until).triangle, expected.triangle) << what;
    until.t_max = std::nextafter(expected.t, -kInfinity);
    ASSERT_FALSE(closest_hit(view, until).found()) << what;
    ASSERT_FALSE(any_hit(view, until)) << what;
}

void compare_all_kinds(const scenes::Scene& scene, const Tree& tree, unsigned rays, Dice& dice) {
    for (const std::string& kind : tests::ray_kinds()) {
        unsigned hits = 0;
        for (unsigned i = 0; i < rays; ++i) {
            const Ray ray = tests::random_ray(kind, scene, tree, dice);
            ASSERT_NO_FATAL_FAILURE(compare(scene, tree, ray, kind.c_str(), hits));
        }
        if (kind == "at_face" && scene.degenerate < scene.triangles.size()) {
            EXPECT_GT(hits, 0U) << scene.path;
        }
    }
}

TEST(Traversal, FindsWhatBruteForceFinds) {
    Dice dice;
    for (const std::string& kind : tests::scene_kinds()) {
        for (const unsigned count : {1U, 10U, 150U}) {
            const auto scene = tests::random_scene(kind, count, dice());
            BuildConfig config;
            config.leaf_limit = 1;
            config.traversal_cost = 0.1F;
            const Tree tree = tests::reference_tree(scene, config);
            ASSERT_NO_FATAL_FAILURE(compare_all_kinds(scene, tree, 400, dice));
        }
    }
}

TEST(Traversal, FindsWhatBruteForceFindsInGeneratedScenes) {
    Dice dice;
    for (const std::string name : {"sphere", "terrain", "city", "soup", "hair", "stadium",
                                   "slivers", "plane", "coincident"}) {
        const auto scene = scenes::load("gen:" + name + ":400:" + std::to_string(dice.below(1000)));
        const Tree tree = tests::reference_tree(scene, BuildConfig{});
        ASSERT_NO_FATAL_FAILURE(compare_all_kinds(scene, tree, 200, dice));
    }
}

/// A sphere of triangles, wound alternately, around the origin.
scenes::Scene closed_surface(unsigned rings, unsigned sectors, Dice& dice) {
    std::vector<glm::vec3> ring_points;
    const auto point = [&](unsigned r, unsigned s) {
        const float up = 3.14159265F * static_cast<float>(r) / static_cast<float>(rings);
        const float round =
            6.2831853F * static_cast<float>(s % sectors) / static_cast<float>(sectors);
        const bool pole = r == 0 || r == rings;
        const float radius = pole ? 0 : std::sin(up);
        return glm::vec3{radius * std::cos(round), pole ? (r == 0 ? 1.0F : -1.0F) : std::cos(up),
                         radius * std::sin(round)};
    };
    std::vector<glm::vec3> corners;
    for (unsigned r = 0; r < rings; ++r) {
        for (unsigned s = 0; s < sectors; ++s) {
            const auto a = point(r, s), b = point(r, s + 1), c = point(r + 1, s),
                       d = point(r + 1, s + 1);
            if (dice.below(2) == 0) {
                corners.insert(corners.end(), {a, b, c, b, c, d});
            } else {
                corners.insert(corners.end(), {a, b, d, d, a, c});
            }
        }
    }
    return tests::scene_of(corners, "closed surface");
}

TEST(Traversal, NoRayEscapesFromAClosedSurface) {
    Dice dice;
    const auto scene = closed_surface(9, 14, dice);
    const Tree tree = tests::reference_tree(scene, BuildConfig{});
    const TreeView view = tests::view(tree, scene);
    for (const char* kind : {"at_corner", "at_edge", "axis", "in_plane", "near_plane"}) {
        for (unsigned i = 0; i < 5000; ++i) {
            Ray ray = tests::random_ray(kind, scene, tree, dice);
            // From well inside towards where that ray went.
            const glm::vec3 to = ray.origin + ray.direction;
            ray.origin = dice.point(-0.3F, 0.3F);
            ray.direction = to - ray.origin;
            if (ray.direction == glm::vec3{0, 0, 0}) continue;
            ray.t_min = 0;
            ray.t_max = kInfinity;
            ASSERT_TRUE(any_hit(view, ray))
                << kind << ' ' << text(ray.origin) << " to " << text(to);
        }
    }
}

Hit one(const Ray& ray, const glm::vec3& a, const glm::vec3& b, const glm::vec3& c) {
    Hit hit{};
    if (TriangleTest(ray)(a, b, c, hit)) hit.triangle = 0;
    return hit;
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

}  // namespace
}  // namespace heapwood::kdtree
