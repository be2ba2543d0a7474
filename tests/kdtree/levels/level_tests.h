/// @file
/// The level method, alike on every machine: its trees are those of the single kernel, bit for
/// bit, and it ends in good order when anything runs out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kdtree/levels/level_builder.h"
#include "scenes/generators.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/random_rules.h"
#include "tests/kdtree/slow.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

/// A machine M has `available()`, `kTriangles` (how large a scene it builds in a moment), `kSlowly`
/// (hundreds of triangles are too many) and `build(scene, config, run)`.
template <class M>
class LevelTest : public ::testing::Test {
protected:
    using Machine = M;

    void SetUp() override {
        if (!M::available()) GTEST_SKIP() << "no such device";
    }

    static BuildResult build(const scenes::Scene& scene, const BuildConfig& config,
                             const RunConfig& run = {}) {
        return M::build(scene, config, run);
    }
    static void expect_plain_tree(const scenes::Scene& scene, const BuildConfig& config,
                                  const std::string& what = {}) {
        const BuildResult result = build(scene, config);
        ASSERT_EQ(result.status, Status::done) << scene.path << what << ": " << result.message;
        const Tree plain = plain_tree(scene, config);
        EXPECT_EQ(result.tree.nodes.size(), plain.nodes.size()) << scene.path << what;
        EXPECT_EQ(digest(result.tree), digest(plain)) << scene.path << what;
    }
    static scenes::Scene generated(const std::string& name, std::uint64_t seed = 1) {
        return scenes::generate({name, M::kTriangles, seed});
    }
    /// Many pieces are binned, and divided by several warps, even in small scenes.
    static BuildConfig busy() {
        BuildConfig config;
        config.exact_limit = M::kSlowly ? 16 : 32;
        config.chunk = 32;
        return config;
    }
    /// Long thin triangles across one another, without clipping and as deep as may be: many more
    /// nodes and references than anybody expects.
    static scenes::Scene slivers() { return random_scene("slivers", M::kSlowly ? 60 : 1000, 1); }
    static BuildConfig lavish() {
        BuildConfig config = busy();
        config.leaf_limit = 1;
        config.traversal_cost = 0;
        config.clip = false;
        config.depth_base = 14;
        return config;
    }
};

TYPED_TEST_SUITE_P(LevelTest);

TYPED_TEST_P(LevelTest, BuildsTheSingleKernelsTree) {
    using T = TestFixture;
    for (const scenes::GeneratorInfo& info : scenes::generators()) {
        const auto scene = T::generated(std::string(info.name));
        T::expect_plain_tree(scene, T::busy());
        if (!T::Machine::kSlowly) T::expect_plain_tree(scene, BuildConfig{});
    }
}

TYPED_TEST_P(LevelTest, BuildsAwkwardScenes) {
    using T = TestFixture;
    Dice dice;
    const std::vector<unsigned> counts = T::Machine::kSlowly
                                             ? std::vector<unsigned>{1, 34}
                                             : std::vector<unsigned>{1, 2, 5, 33, 64, 65, 150, 700};
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : counts) {
            const auto scene = random_scene(kind, count, dice());
            T::expect_plain_tree(scene, T::busy());
            if (!T::Machine::kSlowly) T::expect_plain_tree(scene, BuildConfig{});
        }
    }
}

TYPED_TEST_P(LevelTest, RandomRulesGiveTheSameTree) {
    using T = TestFixture;
    const bool slowly = T::Machine::kSlowly;
    for_random_rules(slowly ? 4 : 130, slowly ? 60 : 900,
                     [](Dice&, const scenes::Scene& scene, const BuildConfig& config) {
                         T::expect_plain_tree(scene, config);
                     });
}

TYPED_TEST_P(LevelTest, AnyNumberOfCutsAtAFaceIsMade) {
    using T = TestFixture;
    // A bonus so small that all cuts of empty space cost the same: the lowest plane wins, and one
    // cut after another is made at the same face.
    const auto expect = [](const scenes::Scene& scene, float bonus, std::uint32_t exact_limit) {
        BuildConfig config;
        config.empty_bonus = bonus;
        config.empty_rule = EmptyRule::tests;
        config.exact_limit = exact_limit;
        config.leaf_limit = 1;
        config.leaf_area = 0;
        T::expect_plain_tree(scene, config);
        config.tight_cuts = false;
        T::expect_plain_tree(scene, config);
    };
    expect(scenes::generate({"soup", 5, 5}), 1e-8F, 1);
    if (T::Machine::kSlowly) return;
    expect(scenes::generate({"slivers", 100, 70}), 1e-8F, 8);
    expect(scenes::generate({"sphere", 2000, 24}), 1e-10F, 64);
}

TYPED_TEST_P(LevelTest, RootMayBeALeaf) {
    using T = TestFixture;
    const auto scene = T::generated("soup");
    BuildConfig config = T::busy();
    config.leaf_limit = ~0U;
    config.leaf_area = 0;
    const BuildResult result = T::build(scene, config);
    ASSERT_EQ(result.status, Status::done) << result.message;
    ASSERT_EQ(result.tree.nodes.size(), 1U);
    EXPECT_EQ(result.tree.references.size(), scene.triangles.size());
    EXPECT_EQ(digest(result.tree), digest(plain_tree(scene, config)));
}

TYPED_TEST_P(LevelTest, ArraysOfTheTreeGrow) {
    using T = TestFixture;
    const auto scene = T::slivers();
    const Tree plain = plain_tree(scene, T::lavish());
    if (!T::Machine::kSlowly) {
        ASSERT_GT(plain.references.size(), 10 * scene.triangles.size()) << "the scene is too easy";
    }
    T::expect_plain_tree(scene, T::lavish());
}

TYPED_TEST_P(LevelTest, LimitsOfTheTreesArraysAreKept) {
    using T = TestFixture;
    const auto scene = T::slivers();
    BuildConfig config = T::lavish();
    const Tree plain = plain_tree(scene, config);
    // The root has a sibling that is not used.
    const std::uint64_t nodes = plain.nodes.size() + 1;
    const std::uint64_t references = plain.references.size();
    const auto status = [&](std::uint64_t max_nodes, std::uint64_t max_references) {
        config.max_nodes = max_nodes;
        config.max_references = max_references;
        const BuildResult result = T::build(scene, config);
        if (result.status == Status::done) {
            EXPECT_EQ(digest(result.tree), digest(plain));
            EXPECT_EQ(result.message, "");
        } else {
            EXPECT_TRUE(result.tree.nodes.empty());
            const std::string limit = std::to_string(
                result.status == Status::nodes_exhausted ? max_nodes : max_references);
            EXPECT_NE(result.message.find("holds " + limit), std::string::npos) << result.message;
        }
        return result.status;
    };
    EXPECT_EQ(status(nodes, references), Status::done);
    EXPECT_EQ(status(nodes - 1, references), Status::nodes_exhausted);
    EXPECT_EQ(status(nodes, references - 1), Status::references_exhausted);
    EXPECT_EQ(status(2, 0), Status::nodes_exhausted);
    EXPECT_EQ(status(0, 1), Status::references_exhausted);
}

TYPED_TEST_P(LevelTest, TheHostPoolChangesNothingAndServesTheNextBuild) {
    using T = TestFixture;
    using allocators::ArrayPool;
    const auto scene = T::generated("city");
    const std::uint64_t wanted = digest(plain_tree(scene, T::busy()));
    ArrayPool none(T::Machine::kPlace, ArrayPool::Keep::nothing);
    RunConfig run;
    run.array_pool = &none;
    const BuildResult without = T::build(scene, T::busy(), run);
    EXPECT_EQ(digest(without.tree), wanted);
    EXPECT_GE(without.pool_bytes, 2 * without.root_bytes);

    ArrayPool pool(T::Machine::kPlace);
    run.array_pool = &pool;
    EXPECT_EQ(digest(T::build(scene, T::busy(), run).tree), wanted);
    const ArrayPool::Statistics first = pool.statistics();
    EXPECT_EQ(first.live_bytes, 0U);
    EXPECT_GT(first.grown, 0U);
    EXPECT_GE(first.peak_live_bytes, without.pool_bytes);
    const BuildResult again = T::build(scene, T::busy(), run);
    EXPECT_EQ(digest(again.tree), wanted);
    EXPECT_EQ(pool.statistics().live_bytes, 0U);
    EXPECT_GT(pool.statistics().requests, first.requests);
    EXPECT_EQ(pool.statistics().grown, first.grown);
    EXPECT_EQ(again.pool_bytes, first.slab_bytes);
}

REGISTER_TYPED_TEST_SUITE_P(LevelTest, BuildsTheSingleKernelsTree, BuildsAwkwardScenes,
                            RandomRulesGiveTheSameTree, AnyNumberOfCutsAtAFaceIsMade,
                            RootMayBeALeaf, ArraysOfTheTreeGrow, LimitsOfTheTreesArraysAreKept,
                            TheHostPoolChangesNothingAndServesTheNextBuild);

}  // namespace heapwood::kdtree::tests
