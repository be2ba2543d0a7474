/// @file
/// What a walk counts, on a tree that is written down.
#include "kdtree/rays/ray_effort.cuh"

#include <gtest/gtest.h>

#include <limits>

#include "kdtree/rays/ray_tree.h"
#include "kdtree/rays/traversal.cuh"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();

/// Two triangles at right angles to the x axis, at x = 1 and x = 3, in leaves on either side of
/// x = 2; an empty leaf beyond x = 4.
class TwoLeaves : public ::testing::Test {
protected:
    const scenes::Scene scene_ = scene_of({{1, 0, 0},
                                           {1, 2, 0},
                                           {1, 0, 2},  //
                                           {3, 0, 0},
                                           {3, 4, 0},
                                           {3, 0, 4}});
    const Tree tree_{{Node::inner(0, 4, 1), Node::inner(0, 2, 3), Node::leaf(2, 0),
                      Node::leaf(0, 1), Node::leaf(1, 1)},
                     {0, 1},
                     {{0, 0, 0}, {6, 4, 4}}};
    const RayTree rays_{tree_, scene_};

    /// Of a ray along the x axis.
    RayEffort effort(float x, float y, float toward) {
        RayEffort effort;
        closest_hit(rays_.view(), {{x, y, 0.5F}, {toward, 0, 0}, 0, kEndless}, effort);
        return effort;
    }
};

TEST_F(TwoLeaves, EndWithTheFirstHit) {
    const RayEffort from_left = effort(-1, 0.5F, 1);
    EXPECT_EQ(from_left.nodes, 2U);
    EXPECT_EQ(from_left.leaves, 1U);
    EXPECT_EQ(from_left.tests, 1U);
    EXPECT_EQ(from_left.reference, 0U);
    const RayEffort from_right = effort(7, 0.5F, -1);
    EXPECT_EQ(from_right.nodes, 2U);
    EXPECT_EQ(from_right.leaves, 1U);
    EXPECT_EQ(from_right.reference, 1U);
}

TEST_F(TwoLeaves, GoOnAfterAMiss) {
    const RayEffort through = effort(-1, 3, 1);
    EXPECT_EQ(through.nodes, 2U);
    EXPECT_EQ(through.leaves, 2U);
    EXPECT_EQ(through.tests, 2U);
    EXPECT_EQ(through.reference, 1U);
}

TEST_F(TwoLeaves, CountOnlyWhatTheRayMeets) {
    const RayEffort beside = effort(-1, 9, 1);
    EXPECT_EQ(beside.nodes, 0U);
    EXPECT_EQ(beside.tests, 0U);
    const RayEffort beyond = effort(5, 1, 1);
    EXPECT_EQ(beyond.nodes, 1U);
    EXPECT_EQ(beyond.leaves, 0U) << "a leaf without references is not visited";
    RayEffort of_none{9, 9, 9, 9};
    closest_hit(rays_.view(), {{0, 0, 0}, {0, 0, 0}, 0, 1}, of_none);
    EXPECT_EQ(of_none.nodes + of_none.leaves + of_none.tests, 0U) << "the ray is not valid";
}

TEST(RayEffort, CountingChangesNoHit) {
    Dice dice;
    for (const std::string& kind : scene_kinds()) {
        const scenes::Scene scene = random_scene(kind, 100, dice());
        const RayTree tree(plain_tree(scene, BuildConfig{}), scene);
        const glm::vec3 extent = scene.bounds.hi - scene.bounds.lo;
        for (unsigned i = 0; i < 500; ++i) {
            const glm::vec3 from = scene.bounds.lo + dice.point(-1, 2) * extent;
            const glm::vec3 to = scene.bounds.lo + dice.point(0, 1) * extent;
            const Ray ray{from, to - from, 0, kEndless};
            RayEffort effort;
            const Hit counted = closest_hit(tree.view(), ray, effort);
            const Hit plain = closest_hit(tree.view(), ray);
            ASSERT_EQ(counted.triangle, plain.triangle) << kind;
            if (!plain.found()) continue;
            ASSERT_EQ(counted.t, plain.t) << kind;
            ASSERT_EQ(tree.view().triangle(effort.reference)->triangle, plain.triangle) << kind;
            ASSERT_GE(effort.tests, 1U);
            ASSERT_LE(effort.leaves, effort.tests);
        }
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
