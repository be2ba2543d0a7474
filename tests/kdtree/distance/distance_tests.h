/// @file
/// Distances through trees are what asking every triangle says, on any of the machines of
/// distance_machines.h.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tests/kdtree/dice.h"
#include "tests/kdtree/distance/closed_scenes.h"
#include "tests/kdtree/distance/distance_machines.h"
#include "tests/kdtree/distance/distance_oracle.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/rays/ray_trees.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

inline constexpr float kNowhere = std::numeric_limits<float>::infinity();

inline std::string text(const glm::vec3& p) {
    std::ostringstream out;
    out << std::hexfloat << '(' << p.x << ", " << p.y << ", " << p.z << ')';
    return out.str();
}

inline const std::vector<std::string>& point_kinds() {
    static const std::vector<std::string> kinds{"around", "at_corner", "on_edge", "on_face",
                                                "near",   "at_plane",  "far",     "very_far"};
    return kinds;
}

/// around: in the scene's box and as much again around it; at_corner, on_edge, on_face: on a
/// triangle, as exactly as floats can; near: beside one by a thousandth of its size; at_plane: with
/// coordinates of corners; far, very_far: 100, and 1e3 to
/// 1e20 times as far away.
inline glm::vec3 random_point(const std::string& kind, const scenes::Scene& scene, Dice& dice) {
    const glm::vec3 size = scene.bounds.hi - scene.bounds.lo;
    const float largest = std::max({size.x, size.y, size.z, 1e-30F});
    const auto corner = [&] { return scene.positions[dice.below(scene.positions.size())]; };
    const glm::uvec3 t = scene.triangles[dice.below(scene.triangles.size())];
    const glm::vec3 a = scene.positions[t.x];
    const glm::vec3 b = scene.positions[t.y];
    const glm::vec3 c = scene.positions[t.z];
    float u = dice.uniform(0, 1);
    float v = dice.uniform(0, 1);
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    const glm::vec3 on_face = a + u * (b - a) + v * (c - a);
    if (kind == "at_corner") return a;
    if (kind == "on_edge") return a + u * (b - a);
    if (kind == "on_face") return on_face;
    if (kind == "near") {
        const auto extent = static_cast<float>(length(Exact(b) - Exact(a)));
        return on_face + dice.point(-1, 1) * (extent * 1e-3F);
    }
    if (kind == "at_plane") return {corner().x, corner().y, corner().z};
    if (kind == "far") return scene.bounds.lo + dice.point(-100, 100) * largest;
    if (kind == "very_far") {
        return dice.point(-1, 1) * std::min(largest * std::pow(10.0F, dice.uniform(3, 20)), 1e37F);
    }
    return scene.bounds.lo - largest / 2 + dice.point(0, 2) * largest;
}

/// The nearest triangle by the library's own test of each, which must agree to the bit.
inline Nearest nearest_by_force(const scenes::Scene& scene, const glm::vec3& p, float most) {
    Nearest nearest{};
    nearest.distance = kNowhere;
    nearest.triangle = Nearest::kNone;
    for (std::uint32_t i = 0; i < scene.triangles.size(); ++i) {
        const glm::uvec3 t = scene.triangles[i];
        const auto row = [&](int k) {
            return CornerRow{scene.positions[t.x][k], scene.positions[t.y][k],
                             scene.positions[t.z][k], i};
        };
        const NearestOnTriangle on = nearest_on_triangle({row(0), row(1), row(2)}, p);
        if (!(on.distance() <= most)) continue;
        if (nearest.found() && !(on.distance() < nearest.distance)) continue;
        nearest.distance = on.distance();
        nearest.triangle = i;
        nearest.u = static_cast<float>(on.u);
        nearest.v = static_cast<float>(on.v);
    }
    return nearest;
}

/// What a distance may be off by: its rounding to a float, and that of coordinates' products.
inline long double slack(const scenes::Scene& scene, const glm::vec3& p, long double distance) {
    const auto largest = [](const glm::vec3& v) {
        return std::max({std::abs(v.x), std::abs(v.y), std::abs(v.z)});
    };
    const long double size =
        std::max({largest(p), largest(scene.bounds.lo), largest(scene.bounds.hi)});
    return distance * 0x1p-24L + size * 0x1p-45L + 0x1p-149L;
}

/// One point's answers, against brute force.
inline void expect_right(const DistanceAnswers& answers, std::size_t i, const scenes::Scene& scene,
                         const glm::vec3& p, float most) {
    const Nearest wanted = nearest_by_force(scene, p, most);
    ASSERT_EQ(answers.triangles[i], wanted.triangle);
    ASSERT_EQ(answers.nearest_distances[i], wanted.distance);
    ASSERT_EQ(answers.distances[i], wanted.distance);
    ASSERT_EQ(answers.balls.any[i] != 0, wanted.found());
    std::vector<std::uint32_t> within;
    for (std::uint32_t k = 0; k < scene.triangles.size(); ++k) {
        const long double far = distance_by_force(corners_of(scene, k), Exact(p));
        const long double off = slack(scene, p, far);
        // A triangle at the very end of the radius counts by the bits of its distance.
        const bool listed = std::ranges::binary_search(answers.balls.lists[i], k);
        ASSERT_TRUE(listed || !(far < most - off)) << "triangle " << k;
        ASSERT_TRUE(!listed || !(far > most + off)) << "triangle " << k;
    }
    ASSERT_EQ(answers.balls.counts[i], answers.balls.lists[i].size());
    ASSERT_TRUE(std::ranges::is_sorted(answers.balls.lists[i], std::less_equal<>()));
    if (!wanted.found()) return;
    ASSERT_EQ(answers.barycentrics[i].x, wanted.u);
    ASSERT_EQ(answers.barycentrics[i].y, wanted.v);
    ASSERT_EQ(answers.balls.lists[i].empty(), false);

    const long double truth = distance_by_force(scene, Exact(p));
    if (wanted.distance < kNowhere) {
        ASSERT_LE(std::abs(wanted.distance - truth), slack(scene, p, truth));
    }
    // Floats place a point no better than this, and triangles may have the same distance as floats.
    const Exact point(answers.points[i]);
    const long double coarse = 2 * slack(scene, p, truth) + 0x1p-21L * length(point);
    ASSERT_LE(std::abs(length(point - Exact(p)) - truth), coarse);
    ASSERT_LE(distance_by_force(corners_of(scene, wanted.triangle), point), coarse);
}

/// Asks about `count` points of each kind, up to all distances and up to some.
template <class Machine>
void compare_points(const scenes::Scene& scene, const Tree& tree, unsigned count, Dice& dice) {
    const RayTree rays(tree, scene, Machine::place());
    const SignTable signs(scene, Machine::place());
    for (const std::string& kind : point_kinds()) {
        Asked asked;
        for (unsigned i = 0; i < count; ++i) {
            const glm::vec3 p = random_point(kind, scene, dice);
            const float far = nearest_by_force(scene, p, kNowhere).distance;
            // The end belongs to what counts, and what lies beyond does not.
            for (const float most : {kNowhere, far, std::nextafter(far, -1.0F), 2 * far}) {
                asked.points.push_back(p);
                asked.most.push_back(most);
            }
        }
        const DistanceAnswers answers = Machine::ask(rays, signs, asked);
        for (std::size_t i = 0; i < asked.points.size(); ++i) {
            SCOPED_TRACE(kind + " in " + scene.path + ": " + text(asked.points[i]) + " up to " +
                         std::to_string(asked.most[i]));
            expect_right(answers, i, scene, asked.points[i], asked.most[i]);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

/// Boxes: around points of all kinds, small and large, flat, points, with infinite ends, empty.
inline Asked random_boxes(const scenes::Scene& scene, unsigned count, Dice& dice) {
    Asked asked;
    const glm::vec3 size = scene.bounds.hi - scene.bounds.lo;
    const float largest = std::max({size.x, size.y, size.z});
    for (unsigned i = 0; i < count; ++i) {
        const auto& kinds = point_kinds();
        const glm::vec3 at = random_point(kinds[dice.below(6)], scene, dice);
        const float reach = largest * std::pow(2.0F, dice.uniform(-12, 0));
        glm::vec3 lo = at - dice.point(0, 1) * reach;
        glm::vec3 hi = at + dice.point(0, 1) * reach;
        const unsigned axis = dice.below(3);
        switch (dice.below(8)) {
            case 0:
                lo = at, hi = at;
                break;
            case 1:
                lo[axis] = hi[axis] = at[axis];
                break;
            case 2:
                hi[axis] = kNowhere;
                break;
            case 3:
                lo[axis] = -kNowhere;
                break;
            case 4:
                lo = at, hi = random_point("at_corner", scene, dice);
                break;
            default:
                break;
        }
        asked.lo.push_back(lo);
        asked.hi.push_back(hi);
    }
    return asked;
}

template <class Machine>
void compare_boxes(const scenes::Scene& scene, const Tree& tree, unsigned count, Dice& dice) {
    const RayTree rays(tree, scene, Machine::place());
    const SignTable signs(scene, Machine::place());
    const Asked asked = random_boxes(scene, count, dice);
    const RegionAnswers boxes = Machine::ask(rays, signs, asked).boxes;
    const Exact all_lo(scene.bounds.lo);
    const Exact all_hi(scene.bounds.hi);
    const long double size = std::max(length(all_lo), length(all_hi));
    for (std::size_t i = 0; i < asked.lo.size(); ++i) {
        SCOPED_TRACE(scene.path + ": " + text(asked.lo[i]) + " to " + text(asked.hi[i]));
        const auto& listed = boxes.lists[i];
        ASSERT_EQ(boxes.counts[i], listed.size());
        ASSERT_EQ(boxes.any[i] != 0, !listed.empty());
        ASSERT_TRUE(std::ranges::is_sorted(listed, std::less_equal<>()));
        Exact lo(asked.lo[i]);
        Exact hi(asked.hi[i]);
        if (!(lo.x <= hi.x && lo.y <= hi.y && lo.z <= hi.z)) {
            ASSERT_TRUE(listed.empty());
            continue;
        }
        for (int axis = 0; axis < 3; ++axis) {  // without infinite ends
            lo[axis] = std::max(lo[axis], all_lo[axis] - size);
            hi[axis] = std::min(hi[axis], all_hi[axis] + size);
        }
        for (std::uint32_t k = 0; k < scene.triangles.size(); ++k) {
            const Corners corners = corners_of(scene, k);
            const bool has = std::ranges::binary_search(listed, k);
            ASSERT_TRUE(has || !reaches_box(corners, lo, hi, -size * 1e-17L)) << k;
            // The plane of a sliver is known less well.
            const long double area = length(normal_of(corners));
            const long double sides =
                length(corners[1] - corners[0]) * length(corners[2] - corners[0]);
            const long double margin = size * (1e-11L + (area > 0 ? sides / area * 0x1p-47L : 0));
            ASSERT_TRUE(!has || reaches_box(corners, lo, hi, margin)) << k;
        }
    }
}

template <class Machine>
class DistanceTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << "this machine has no such thing";
    }
    Dice dice_;
};
TYPED_TEST_SUITE_P(DistanceTest);

TYPED_TEST_P(DistanceTest, PointsOfAllKindsInScenesOfAllKinds) {
    for (const std::string& kind : scene_kinds()) {
        const auto scene = random_scene(kind, 60, this->dice_());
        compare_points<TypeParam>(scene, oracle_tree(scene, {}), 6, this->dice_);
        if (this->HasFatalFailure()) return;
        compare_points<TypeParam>(scene, tree_of_large_leaves(scene), 2, this->dice_);
        if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST_P(DistanceTest, PointsInScenesWhoseSquaresUnderflow) {
    for (const float scale : {0x1p-68F, 0x1p-71F, 0x1p-73F, 0x1p-75F}) {
        auto scene = random_scene("soup", 60, this->dice_());
        for (glm::vec3& p : scene.positions) p *= scale;
        scenes::finish(scene);
        compare_points<TypeParam>(scene, oracle_tree(scene, {}), 4, this->dice_);
        if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST_P(DistanceTest, BoxesOfAllKindsInScenesOfAllKinds) {
    for (const std::string& kind : scene_kinds()) {
        const auto scene = random_scene(kind, 60, this->dice_());
        compare_boxes<TypeParam>(scene, oracle_tree(scene, {}), 150, this->dice_);
        if (this->HasFatalFailure()) return;
    }
}

TYPED_TEST_P(DistanceTest, ManyTrianglesWithinARadiusAndABoxAreListedOnce) {
    const auto scene = random_scene("soup", 500, this->dice_());
    const auto tree = oracle_tree(scene, {});
    compare_points<TypeParam>(scene, tree, 2, this->dice_);
    compare_boxes<TypeParam>(scene, tree, 40, this->dice_);
}

TYPED_TEST_P(DistanceTest, MoreThanAThreadTakesAtATime) {
    // Each point's answer is its own, whichever was answered before it.
    const auto scene = random_scene("soup", 100, this->dice_());
    const RayTree rays(oracle_tree(scene, {}), scene, TypeParam::place());
    const SignTable signs(scene, TypeParam::place());
    Asked asked;
    for (unsigned i = 0; i < 5000; ++i) {
        asked.points.push_back(random_point(point_kinds()[i % 8], scene, this->dice_));
        const float far = nearest_by_force(scene, asked.points.back(), kNowhere).distance;
        asked.most.push_back(i % 3 == 0 ? kNowhere : i % 3 == 1 ? far : far / 2);
    }
    const DistanceAnswers answers = TypeParam::ask(rays, signs, asked);
    for (std::size_t i = 0; i < asked.points.size(); ++i) {
        const Nearest wanted = nearest_by_force(scene, asked.points[i], asked.most[i]);
        ASSERT_EQ(answers.triangles[i], wanted.triangle) << text(asked.points[i]);
        ASSERT_EQ(answers.nearest_distances[i], wanted.distance) << text(asked.points[i]);
        ASSERT_EQ(answers.distances[i], wanted.distance) << text(asked.points[i]);
    }
}

TYPED_TEST_P(DistanceTest, TheDeepestTree) {
    const DeepTree deep;
    compare_points<TypeParam>(deep.scene, deep.tree, 10, this->dice_);
    compare_boxes<TypeParam>(deep.scene, deep.tree, 100, this->dice_);
}

TYPED_TEST_P(DistanceTest, WhatIsNoPointNoDistanceOrNoTreeHasNothing) {
    const auto scene = random_scene("soup", 20, this->dice_());
    const float nan = std::numeric_limits<float>::quiet_NaN();
    Asked asked;
    for (int k = 0; k < 3; ++k) {
        for (const float wrong : {nan, kNowhere, -kNowhere}) {
            glm::vec3 p{0.1F, 0.2F, 0.3F};
            p[k] = wrong;
            asked.points.push_back(p);
            asked.most.push_back(kNowhere);
        }
    }
    const std::size_t invalid = asked.points.size();
    for (const float most : {nan, -1.0F, -kNowhere}) {
        asked.points.push_back(scene.positions[0]);
        asked.most.push_back(most);
    }
    asked.lo = {{nan, 0, 0}, {0, 1, 0}, {-9, -9, -9}};
    asked.hi = {{1, 1, 1}, {1, 0, 1}, {9, 9, nan}};
    const auto expect_nothing = [&](const scenes::Scene& some, const Tree& tree, std::size_t n) {
        const RayTree rays(tree, some, TypeParam::place());
        const SignTable signs(some, TypeParam::place());
        const DistanceAnswers answers = TypeParam::ask(rays, signs, asked);
        for (std::size_t i = 0; i < asked.points.size(); ++i) {
            SCOPED_TRACE(text(asked.points[i]));
            EXPECT_EQ(answers.triangles[i], Nearest::kNone);
            EXPECT_EQ(answers.nearest_distances[i], kNowhere);
            EXPECT_EQ(answers.distances[i], kNowhere);
            for (int k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(answers.points[i][k]));
            EXPECT_EQ(answers.barycentrics[i], glm::vec2(0));
            EXPECT_EQ(answers.balls.any[i], 0);
            EXPECT_EQ(answers.balls.counts[i], 0U);
            if (i >= n) continue;  // signs have no largest distance
            EXPECT_EQ(answers.by_normals[i], kNowhere);
            EXPECT_EQ(answers.by_crossings[i], kNowhere);
            EXPECT_EQ(answers.inside[i], 0);
            EXPECT_EQ(answers.inside_by_crossings[i], 0);
        }
        for (std::size_t i = 0; i < asked.lo.size(); ++i) {
            EXPECT_EQ(answers.boxes.any[i], 0);
            EXPECT_EQ(answers.boxes.counts[i], 0U);
        }
    };
    expect_nothing(scene, oracle_tree(scene, {}), invalid);
    asked.points.push_back({1, 2, 3});
    asked.most.push_back(kNowhere);
    asked.lo.push_back({-9, -9, -9});
    asked.hi.push_back({9, 9, 9});
    expect_nothing({}, {}, asked.points.size());
}

TYPED_TEST_P(DistanceTest, SurfacesHaveTwoSides) {
    Dice& dice = this->dice_;
    const auto scene = star_scene(0.7F);
    const Tree tree = oracle_tree(scene, {});
    const RayTree rays(tree, scene, TypeParam::place());
    const SignTable signs(scene, TypeParam::place());
    ASSERT_EQ(signs.open_edges(), 0U);
    Asked asked;
    for (unsigned i = 0; i < 300; ++i) {
        asked.points.push_back(random_point(i % 2 == 0 ? "around" : "near", scene, dice));
    }
    asked.points.insert(asked.points.end(), scene.positions.begin(), scene.positions.end());
    asked.most.assign(asked.points.size(), 0.0F);
    const DistanceAnswers answers = TypeParam::ask(rays, signs, asked);
    for (std::size_t i = 0; i < asked.points.size(); ++i) {
        SCOPED_TRACE(text(asked.points[i]));
        const float far = nearest_by_force(scene, asked.points[i], kNowhere).distance;
        const bool inside = far == 0 || std::abs(winding_number(scene, asked.points[i])) > 0.5;
        EXPECT_EQ(answers.by_normals[i], inside ? -far : far);
        EXPECT_EQ(answers.by_crossings[i], inside ? -far : far);
        EXPECT_EQ(answers.inside[i] != 0, inside);
        EXPECT_EQ(answers.inside_by_crossings[i] != 0, inside);
    }
}

REGISTER_TYPED_TEST_SUITE_P(DistanceTest, PointsOfAllKindsInScenesOfAllKinds,
                            PointsInScenesWhoseSquaresUnderflow, BoxesOfAllKindsInScenesOfAllKinds,
                            ManyTrianglesWithinARadiusAndABoxAreListedOnce, TheDeepestTree,
                            MoreThanAThreadTakesAtATime, WhatIsNoPointNoDistanceOrNoTreeHasNothing,
                            SurfacesHaveTwoSides);

}  // namespace heapwood::kdtree::tests
