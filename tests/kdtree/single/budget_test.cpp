/// @file
/// Scenes whose trees would have any number of references keep to a budget, in the same way on
/// every machine, whatever the method.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kdtree/depth_search.h"
#include "kdtree/levels/level_builder.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/single/builder_fixture.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

/// The same tree by hand: of all depths from 0 up, the last one with few enough references.
Tree deepest_within(const scenes::Scene& scene, BuildConfig config, std::uint64_t most,
                    std::uint32_t& depth) {
    const std::uint32_t deepest = max_depth(config, scene.triangles.size());
    config.max_duplication = 0;
    config.depth_factor = 0;
    Tree best;
    for (depth = 0; depth <= deepest; ++depth) {
        config.depth_base = static_cast<float>(depth);
        Tree tree = plain_tree(scene, config);
        if (tree.references.size() > most) break;
        best = std::move(tree);
    }
    EXPECT_LE(depth, deepest) << "the scene is no test: no depth has too many references";
    --depth;
    return best;
}

class BudgetTest : public BuilderFixture {};
INSTANTIATE_TEST_SUITE_P(, BudgetTest, ::testing::ValuesIn(build_subjects()),
                         BuilderFixture::name_of);

TEST_P(BudgetTest, TheTreeIsTheDeepestThatKeepsToIt) {
    const unsigned n = lockstep() ? 40 : 120;
    const auto scene = fan(n);
    for (const std::uint32_t most : {1U, 3U, 8U}) {
        if (lockstep() && most != 3) continue;
        BuildConfig config = busy();
        config.max_duplication = most;
        std::uint32_t depth = 0;
        const Tree wanted = deepest_within(scene, config, std::uint64_t{most} * n, depth);
        const auto built = build(scene, config);
        ASSERT_EQ(built.status, Status::done) << built.message;
        EXPECT_EQ(digest(built.tree), digest(wanted)) << most << " a triangle";
        EXPECT_EQ(built.depth_limit, depth);
        EXPECT_LE(built.tree.references.size(), std::uint64_t{most} * n);
        if (traits().frees_individually) {
            EXPECT_EQ(built.leaked_bytes, 0U);
        }

        const auto levels = build_by_levels_on_cpu(scene, config, {});
        ASSERT_EQ(levels.status, Status::done) << levels.message;
        EXPECT_EQ(digest(levels.tree), digest(wanted)) << "by levels";
        EXPECT_EQ(levels.depth_limit, depth);
    }
}

TEST_P(BudgetTest, WhatIsFarOverItEndsSoon) {
    // At the full depth this one has thousands of references a triangle.
    if (lockstep()) GTEST_SKIP() << "too many references for this machine";
    const unsigned n = 400;
    const auto built = build(fan(n), {});
    ASSERT_EQ(built.status, Status::done) << built.message;
    ASSERT_TRUE(built.depth_limit.has_value());
    EXPECT_LE(built.tree.references.size(), std::uint64_t{32} * n);
    EXPECT_GT(built.tree.references.size(), std::uint64_t{n});
    // An array of references that is full all the time changes nothing.
    BuildConfig tight;
    tight.max_references = built.tree.references.size() + (std::uint64_t{1} << 20);
    EXPECT_EQ(digest(build(fan(n), tight).tree), digest(built.tree));
}

TEST_P(BudgetTest, ArraysThatOnlyDeeperTreesFillChangeNothing) {
    if (lockstep()) GTEST_SKIP() << "too many references for this machine";
    const auto scene = fan(400);
    BuildConfig config = busy();
    config.max_duplication = 3;
    const auto free = build(scene, config);
    ASSERT_EQ(free.status, Status::done) << free.message;
    // Warps leave a part of their last blocks, of 64 nodes and 256 references.
    config.max_nodes = free.tree.nodes.size() + 1 + 64 * std::uint64_t{free.warps};
    config.max_references = free.tree.references.size() + 512 * std::uint64_t{free.warps};
    BuildConfig deep = config;
    deep.max_duplication = 0;
    ASSERT_NE(build(scene, deep).status, Status::done) << "the scene is no test";
    const auto built = build(scene, config);
    ASSERT_EQ(built.status, Status::done) << built.message;
    EXPECT_EQ(digest(built.tree), digest(free.tree));
    const auto levels = build_by_levels_on_cpu(scene, config, {});
    ASSERT_EQ(levels.status, Status::done) << levels.message;
    EXPECT_EQ(digest(levels.tree), digest(free.tree)) << "by levels";
    // One node too few for the tree within its budget is too few.
    config.max_nodes = free.tree.nodes.size();
    EXPECT_EQ(build(scene, config).status, Status::nodes_exhausted);
    EXPECT_EQ(build_by_levels_on_cpu(scene, config, {}).status, Status::nodes_exhausted);
}

TEST_P(BudgetTest, OrdinaryTreesDoNotKnowOfIt) {
    const auto scene = lockstep() ? random_scene("soup", 34, 1) : generated("sphere");
    const auto built = build(scene, busy());
    ASSERT_EQ(built.status, Status::done) << built.message;
    EXPECT_FALSE(built.depth_limit.has_value());
}

TEST(DepthSearch, FindsTheLargestDepthWithinTheBudget) {
    for (std::uint32_t deepest = 0; deepest <= 60; ++deepest) {
        for (std::uint32_t fitting = 0; fitting <= deepest; ++fitting) {
            DepthSearch search(deepest);
            unsigned builds = 1;
            while (!search.settle(search.depth() > fitting)) ++builds;
            EXPECT_EQ(search.depth(), fitting);
            EXPECT_EQ(search.limited(), fitting < deepest);
            EXPECT_LE(builds, 9U);
            if (fitting == deepest) {
                EXPECT_EQ(builds, 1U);
            }
            EXPECT_TRUE(search.settle(false)) << "a later build is the last at once";
            EXPECT_EQ(search.depth(), fitting);
        }
    }
}

TEST(DepthSearch, KnowsNoTreeBelowADepthThatIsUnknown) {
    for (std::uint32_t fitting = 0; fitting < 20; ++fitting) {
        for (std::uint32_t known = fitting; known < 20; ++known) {
            // Trees above `fitting` are over their budget, builds above `known` cannot tell it.
            DepthSearch search(20);
            const auto verdict = [&] {
                if (search.depth() > known) return BudgetVerdict::unknown;
                return search.depth() > fitting ? BudgetVerdict::over : BudgetVerdict::within;
            };
            while (!search.settle(verdict())) {
            }
            EXPECT_EQ(search.depth(), fitting);
            EXPECT_EQ(search.unknown(), known == fitting);
        }
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
