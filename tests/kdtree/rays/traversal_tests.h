/// @file
/// Rays through trees find exactly what testing every triangle finds, on any of the machines of
/// ray_machines.h.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kdtree/config.h"
#include "tests/kdtree/brute_force.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/rays/ray_machines.h"
#include "tests/kdtree/rays/ray_trees.h"
#include "tests/kdtree/rays/rays.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline std::string text(const Ray& ray) {
    std::ostringstream out;
    const glm::vec3& o = ray.origin;
    const glm::vec3& d = ray.direction;
    out << std::hexfloat << '(' << o.x << ", " << o.y << ", " << o.z << ") along (" << d.x << ", "
        << d.y << ", " << d.z << "), t from " << ray.t_min << " to " << ray.t_max;
    return out.str();
}

inline void expect_same(const Hit& hit, const Hit& wanted, const std::string& what) {
    ASSERT_EQ(hit.triangle, wanted.triangle) << what;
    if (!wanted.found()) return;
    ASSERT_EQ(hit.t, wanted.t) << what;
    ASSERT_EQ(hit.u, wanted.u) << what;
    ASSERT_EQ(hit.v, wanted.v) << what;
}

/// Asks a machine everything about some rays, and compares with brute force.
template <class Machine>
std::vector<Hit> compare(const scenes::Scene& scene, const Tree& tree, const std::vector<Ray>& rays,
                         const std::string& kind) {
    const Answers answers = Machine::ask(RayTree(tree, scene, Machine::place()), rays);
    for (std::size_t i = 0; i < rays.size(); ++i) {
        const std::string what =
            kind + " in " + scene.path + ", ray " + std::to_string(i) + " from " + text(rays[i]);
        const std::vector<Hit> wanted = hits_by_force(scene, rays[i]);
        const auto same = [&] {
            expect_same(answers.closest[i], wanted.empty() ? Hit{} : wanted[0], what);
            ASSERT_EQ(answers.any[i], wanted.empty() ? 0U : 1U) << what;
            ASSERT_EQ(answers.counts[i], wanted.size()) << what;
            ASSERT_EQ(answers.all[i].size(), wanted.size()) << what;
            for (std::size_t k = 0; k < wanted.size(); ++k) {
                expect_same(answers.all[i][k], wanted[k], what + ", hit " + std::to_string(k));
            }
        };
        same();
        if (::testing::Test::HasFatalFailure()) return {};
    }
    return answers.closest;
}

/// `count` rays of each kind; then the same up to what they met, and up to just before it.
template <class Machine>
void compare_all_kinds(const scenes::Scene& scene, const Tree& tree, unsigned count, Dice& dice) {
    for (const std::string& kind : ray_kinds()) {
        std::vector<Ray> rays;
        for (unsigned i = 0; i < count; ++i) rays.push_back(random_ray(kind, scene, tree, dice));
        std::vector<Hit> hits;
        ASSERT_NO_FATAL_FAILURE(hits = compare<Machine>(scene, tree, rays, kind));
        std::vector<Ray> until;
        for (unsigned i = 0; i < count; ++i) {
            if (!hits[i].found()) continue;
            // The end of a ray belongs to it, and what lies beyond does not.
            until.push_back(rays[i]);
            until.back().t_max = hits[i].t;
            until.push_back(rays[i]);
            until.back().t_max = std::nextafter(hits[i].t, -kInfinity);
            until.push_back(rays[i]);
            until.back().t_min = std::nextafter(hits[i].t, kInfinity);
        }
        if (kind == "at_face" && scene.degenerate < scene.triangles.size()) {
            EXPECT_FALSE(until.empty()) << scene.path;
        }
        ASSERT_NO_FATAL_FAILURE(compare<Machine>(scene, tree, until, kind + " until the hit"));
    }
}

template <class Machine>
class TraversalTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << "no GPU";
    }
};
TYPED_TEST_SUITE_P(TraversalTest);

TYPED_TEST_P(TraversalTest, FindsWhatBruteForceFinds) {
    Dice dice;
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : {1U, 10U, 150U}) {
            const auto scene = random_scene(kind, count, dice());
            BuildConfig config;
            config.leaf_limit = 1;
            config.traversal_cost = 0.1F;
            const Tree tree = oracle_tree(scene, config);
            ASSERT_NO_FATAL_FAILURE(compare_all_kinds<TypeParam>(scene, tree, 150, dice));
        }
    }
}

TYPED_TEST_P(TraversalTest, FindsWhatBruteForceFindsInGeneratedScenes) {
    Dice dice;
    for (const std::string name : {"sphere", "terrain", "city", "soup", "hair", "stadium",
                                   "slivers", "plane", "coincident"}) {
        const auto scene = scenes::load("gen:" + name + ":400:" + std::to_string(dice.below(1000)));
        const Tree tree = oracle_tree(scene, BuildConfig{});
        ASSERT_NO_FATAL_FAILURE(compare_all_kinds<TypeParam>(scene, tree, 70, dice));
    }
}

TYPED_TEST_P(TraversalTest, FindsWhatBruteForceFindsInLargeLeaves) {
    Dice dice;
    for (const std::string& kind : scene_kinds()) {
        const auto scene = random_scene(kind, 200, dice());
        const Tree tree = tree_of_large_leaves(scene);
        ASSERT_TRUE(RayTree(tree, scene).has_large_leaves()) << scene.path;
        ASSERT_NO_FATAL_FAILURE(compare_all_kinds<TypeParam>(scene, tree, 150, dice));
    }
}

TYPED_TEST_P(TraversalTest, NoRayEscapesFromAClosedSurface) {
    Dice dice;
    const auto scene = closed_surface(9, 14, dice);
    const Tree tree = oracle_tree(scene, BuildConfig{});
    std::vector<Ray> rays;
    for (const char* kind : {"at_corner", "at_edge", "axis", "in_plane", "near_plane"}) {
        for (unsigned i = 0; i < 5000; ++i) {
            Ray ray = random_ray(kind, scene, tree, dice);
            // From well inside towards where that ray went.
            const glm::vec3 to = ray.origin + ray.direction;
            ray.origin = dice.point(-0.3F, 0.3F);
            ray.direction = to - ray.origin;
            ray.t_min = 0;
            ray.t_max = kInfinity;
            if (ray.is_valid()) rays.push_back(ray);
        }
    }
    const Answers answers = TypeParam::ask(RayTree(tree, scene, TypeParam::place()), rays);
    for (std::size_t i = 0; i < rays.size(); ++i) ASSERT_EQ(answers.any[i], 1U) << text(rays[i]);
}

TYPED_TEST_P(TraversalTest, AskAboutAnyNumberOfRays) {
    Dice dice;
    const auto scene = random_scene("soup", 100, dice());
    const Tree tree = oracle_tree(scene, BuildConfig{});
    for (const unsigned count : {0U, 1U, 31U, 33U, 127U, 129U, 5000U}) {
        std::vector<Ray> rays;
        for (unsigned i = 0; i < count; ++i) rays.push_back(random_ray("any", scene, tree, dice));
        ASSERT_NO_FATAL_FAILURE(compare<TypeParam>(scene, tree, rays, "any"));
    }
}

TYPED_TEST_P(TraversalTest, ListsMoreHitsThanAWalkGathers) {
    Dice dice;
    const auto coincident = random_scene("coincident", 100, dice());
    const auto flat = random_scene("grid", 300, dice());
    for (const auto* scene : {&coincident, &flat}) {
        BuildConfig config;
        config.leaf_limit = 2;
        const Tree tree = oracle_tree(*scene, config);
        std::vector<Ray> rays;
        for (unsigned i = 0; i < 200; ++i) {
            rays.push_back(random_ray("at_face", *scene, tree, dice));
            rays.back().t_min = -kInfinity;
        }
        ASSERT_NO_FATAL_FAILURE(compare<TypeParam>(*scene, tree, rays, "at_face"));
    }
}

TYPED_TEST_P(TraversalTest, WalksTheDeepestTree) {
    const DeepTree deep;
    std::vector<Ray> rays;
    for (unsigned i = 0; i < 200; ++i) {
        const float along = i % 2 == 0 ? 1.0F : -1.0F;
        const float from = i % 3 == 0 ? 30.0F : -100 * along;
        rays.push_back({{from, 1, 1}, {along, 0, 0}, 0, kInfinity});
        rays.push_back({{from, 1, 1}, {along, 1e-3F, 1e-30F}, 0, kInfinity});
    }
    std::vector<Hit> hits;
    ASSERT_NO_FATAL_FAILURE(hits = compare<TypeParam>(deep.scene, deep.tree, rays, "along x"));
    ASSERT_EQ(hits[2].triangle, kMaxDepth);  // backwards from the far end
    ASSERT_EQ(hits_by_force(deep.scene, rays[4]).size(), kMaxDepth + 1);
}

TYPED_TEST_P(TraversalTest, LosesNoHitWhereDistancesOverflow) {
    // Coordinates of 1e30, and rays that are almost at right angles to an axis: the distance to a
    // plane across it is no float, although the ray may lie in the plane.
    Dice dice;
    for (int i = 0; i < 20; ++i) {
        const auto scene = random_scene("huge", 60, dice());
        const Tree tree = oracle_tree(scene, BuildConfig{});
        std::vector<Ray> rays;
        for (unsigned k = 0; k < 500; ++k) {
            rays.push_back(random_ray("near_plane", scene, tree, dice));
            for (int axis = 0; axis < 3; ++axis) {
                float& d = rays.back().direction[axis];
                if (d != 0 && dice.below(3) == 0) d = std::ldexp(1.0F, -dice.integer(20, 60));
            }
        }
        ASSERT_NO_FATAL_FAILURE(compare<TypeParam>(scene, tree, rays, "near_plane"));
    }
}

TYPED_TEST_P(TraversalTest, LosesNoHitWhereDistancesUnderflow) {
    // Tiny scenes, and directions so long that t is a few hundred times the smallest float.
    Dice dice;
    for (int i = 0; i < 100; ++i) {
        const int down = dice.integer(85, 140);
        const auto whole = random_scene(i % 2 == 0 ? "soup" : "grid", 40, dice());
        std::vector<glm::vec3> corners;
        for (const glm::uvec3& t : whole.triangles) {
            for (int k = 0; k < 3; ++k) {
                corners.push_back(whole.positions[t[k]] * std::ldexp(1.0F, -down));
            }
        }
        const auto scene = scene_of(std::move(corners), "2^-" + std::to_string(down));
        const Tree tree = oracle_tree(scene, BuildConfig{});
        const int longest = std::min(60, 149 - down - dice.integer(0, 10));
        std::vector<Ray> rays;
        for (unsigned k = 0; k < 100; ++k) {
            Ray ray = random_ray(k % 2 == 0 ? "at_edge" : "at_face", scene, tree, dice);
            const glm::vec3& d = ray.direction;
            const float length = std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)});
            if (length == 0) continue;
            const int up = longest - std::ilogb(length);
            for (int axis = 0; axis < 3; ++axis) {
                ray.direction[axis] = std::ldexp(ray.direction[axis], up);
            }
            ray.t_max = kInfinity;
            rays.push_back(ray);
        }
        ASSERT_NO_FATAL_FAILURE(compare<TypeParam>(scene, tree, rays, "long"));
    }
}

/// A triangle across the x axis at x, with corners at y = -size, size and z = lo, hi.
inline void add_across(std::vector<glm::vec3>& corners, float x, float size, float lo, float hi) {
    corners.insert(corners.end(), {{x, -size, lo}, {x, size, lo}, {x, 0, hi}});
}

TYPED_TEST_P(TraversalTest, DoesNotStopAtAHitWhereThePlanesDistanceOverflows) {
    // Both sides of the plane count as met. The side below it, where the ray never is, comes first,
    // and has a triangle that reaches across; a nearer one is above only.
    std::vector<glm::vec3> corners;
    add_across(corners, 0x1p99F, 0x1p100F, -0x1p101F, 0x1p101F);
    add_across(corners, 0, 0x1p100F, -0x1p100F, 0x1p101F);
    const auto scene = scene_of(corners, "across a plane");
    const Tree tree{{Node::inner(2, -0x1p100F, 1), Node::leaf(0, 1), Node::leaf(1, 2)},
                    {0, 0, 1},
                    {{0, -0x1p100F, -0x1p101F}, {0x1p101F, 0x1p100F, 0x1p101F}}};
    const std::vector<Ray> rays{
        {{-0x1p99F, 0, -0x1p99F}, {0x1p-23F, 0x1p-38F, 0x1p-39F}, 0, kInfinity}};
    std::vector<Hit> hits;
    ASSERT_NO_FATAL_FAILURE(hits = compare<TypeParam>(scene, tree, rays, "above the plane"));
    ASSERT_EQ(hits[0].triangle, 1U);
}

TYPED_TEST_P(TraversalTest, FindsPlanesWhosePositionOverThePaceOverflows) {
    // position / pace is no float, but (position - origin) / pace is one.
    const float plane = 1.15F * 0x1p100F;
    std::vector<glm::vec3> corners;
    add_across(corners, 0.95F * 0x1p103F, 0x1p100F, 0x1p99F, 0x1p101F);
    const auto scene = scene_of(corners, "beyond a plane");
    const Tree tree{{Node::inner(2, plane, 1), Node::leaf(0, 0), Node::leaf(0, 1)},
                    {0},
                    {{-0x1p103F, -0x1p100F, -0x1p100F}, {0x1p103F, 0x1p100F, 0x1p101F}}};
    const std::vector<Ray> rays{
        {{-0x1p103F, 0, 1.41F * 0x1p99F}, {0x1p-23F, 0, 0x1p-28F}, 0, kInfinity}};
    std::vector<Hit> hits;
    ASSERT_NO_FATAL_FAILURE(hits = compare<TypeParam>(scene, tree, rays, "through the plane"));
    ASSERT_TRUE(hits[0].found());
}

TYPED_TEST_P(TraversalTest, InvalidRaysMeetNothing) {
    const auto scene = scene_of({{-9, -9, 1}, {9, -9, 1}, {0, 9, 1}});
    const Tree tree = oracle_tree(scene, BuildConfig{});
    const Ray good{{0, 0, 0}, {0, 0, 1}, 0, kInfinity};
    std::vector<Ray> rays{
        good, {{0, 0, 0}, {0, 0, 0x1p60F}, 0, 1}, {{0, 0, 0}, {0, 0, 0x1p-60F}, 0, kInfinity}};
    const std::size_t valid = rays.size();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {nan, kInfinity, -kInfinity}) {
        for (int k = 0; k < 3; ++k) {
            rays.push_back(good);
            rays.back().origin[k] = bad;
            rays.push_back(good);
            rays.back().direction[k] = bad;
        }
    }
    rays.push_back({{0, 0, 0}, {0, 0, 0}, 0, kInfinity});
    rays.push_back({{0, 0, 0}, {0, 0, 0x1p61F}, 0, kInfinity});
    rays.push_back({{0, 0, 0}, {0, 0, 0x1p-61F}, 0, kInfinity});
    rays.push_back({{0, 0, 0}, {0, 0, 1}, 2, 0});
    rays.push_back({{0, 0, 0}, {0, 0, 1}, nan, kInfinity});
    rays.push_back({{0, 0, 0}, {0, 0, 1}, 0, nan});
    const Answers answers = TypeParam::ask(RayTree(tree, scene, TypeParam::place()), rays);
    for (std::size_t i = 0; i < rays.size(); ++i) {
        ASSERT_EQ(answers.closest[i].found(), i < valid) << text(rays[i]);
        ASSERT_EQ(answers.any[i], i < valid ? 1U : 0U) << text(rays[i]);
        ASSERT_EQ(answers.counts[i], i < valid ? 1U : 0U) << text(rays[i]);
    }
}

TYPED_TEST_P(TraversalTest, EmptyTreesAreMetByNothing) {
    const auto scene = scene_of({{-9, -9, 1}, {9, -9, 1}, {0, 9, 1}});
    const Box bounds{scene.bounds.lo, scene.bounds.hi};
    const Tree no_node{{}, {}, bounds};
    const Tree no_reference{{Node::leaf(0, 0)}, {}, bounds};
    const Tree empty_children{
        {Node::inner(0, 1, 1), Node::leaf(0, 0), Node::leaf(0, 0)}, {}, bounds};
    for (const Tree* tree : {&no_node, &no_reference, &empty_children}) {
        const Answers answers = TypeParam::ask(RayTree(*tree, scene, TypeParam::place()),
                                               {{{0, 0, 0}, {0, 0, 1}, 0, kInfinity}});
        ASSERT_FALSE(answers.closest[0].found());
        ASSERT_EQ(answers.any[0], 0U);
        ASSERT_EQ(answers.counts[0], 0U);
        ASSERT_TRUE(answers.all[0].empty());
    }
}

REGISTER_TYPED_TEST_SUITE_P(TraversalTest, FindsWhatBruteForceFinds,
                            FindsWhatBruteForceFindsInGeneratedScenes,
                            FindsWhatBruteForceFindsInLargeLeaves, NoRayEscapesFromAClosedSurface,
                            AskAboutAnyNumberOfRays, ListsMoreHitsThanAWalkGathers,
                            WalksTheDeepestTree, LosesNoHitWhereDistancesOverflow,
                            LosesNoHitWhereDistancesUnderflow,
                            DoesNotStopAtAHitWhereThePlanesDistanceOverflows,
                            FindsPlanesWhosePositionOverThePaceOverflows, InvalidRaysMeetNothing,
                            EmptyTreesAreMetByNothing);

}  // namespace heapwood::kdtree::tests
