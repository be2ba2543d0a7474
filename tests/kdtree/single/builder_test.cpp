/// @file
/// Whole builds give the same tree whatever the schedule, on every machine and for allocators of
/// every kind. tests/app/backends/backends_test.cpp has what is tested with every allocator.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/random_rules.h"
#include "tests/kdtree/single/builder_fixture.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

class BuilderTest : public BuilderFixture {};
INSTANTIATE_TEST_SUITE_P(, BuilderTest, ::testing::ValuesIn(build_subjects()),
                         BuilderFixture::name_of);

TEST_P(BuilderTest, BuildsTheSameTreeAsOneThread) {
    for (const scenes::GeneratorInfo& info : scenes::generators()) {
        if (lockstep() && info.name.size() % 3 != 0) continue;
        expect_plain_tree(generated(std::string(info.name)), busy());
    }
    if (!lockstep()) {
        expect_plain_tree(generated("soup"), BuildConfig{});
    }
}

TEST_P(BuilderTest, BuildsAwkwardScenes) {
    Dice dice;
    const std::vector<unsigned> counts =
        lockstep() ? std::vector<unsigned>{1, 34} : std::vector<unsigned>{1, 2, 5, 33, 64, 150};
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : counts) {
            expect_plain_tree(random_scene(kind, count, dice()), busy());
        }
    }
}

TEST_P(BuilderTest, SharingOfWorkChangesNothing) {
    const auto scene = generated("soup");
    BuildConfig config = busy();
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    const std::vector<std::uint32_t> chunks =
        lockstep() ? std::vector<std::uint32_t>{32} : std::vector<std::uint32_t>{32, 100, 4096};
    for (const std::uint32_t large : {32U, 64U, 200U, 1U << 20}) {
        if (lockstep() && large == 200) continue;
        config.large_limit = std::max(large, config.exact_limit);
        for (const std::uint32_t chunk : chunks) {
            config.chunk = chunk;
            expect_tree(scene, config, wanted,
                        " large_limit " + std::to_string(config.large_limit) + " chunk " +
                            std::to_string(chunk));
        }
    }
}

TEST_P(BuilderTest, TenRunsGiveOneTree) {
    const auto scene = generated("city");
    const std::uint64_t wanted = digest(plain_tree(scene, busy()));
    for (int i = 0; i < (lockstep() ? 2 : 10); ++i) expect_tree(scene, busy(), wanted);
}

TEST_P(BuilderTest, LimitsChangeTheTreeAlike) {
    if (lockstep()) GTEST_SKIP() << "too slow";
    const auto scene = generated("sphere");
    for (const std::uint32_t exact : {0U, 1U, 2U, 31U, 32U, 33U, 63U, 64U}) {
        BuildConfig config;
        config.exact_limit = exact;
        config.large_limit = std::max(exact, 40U);
        expect_plain_tree(scene, config, " exact_limit " + std::to_string(exact));
    }
    for (const std::uint32_t leaf : {0U, 1U, 16U, 100U}) {
        BuildConfig config = busy();
        config.leaf_limit = leaf;
        expect_plain_tree(scene, config, " leaf_limit " + std::to_string(leaf));
    }
    for (const float depth : {0.0F, 1.0F, 5.0F, 60.0F}) {
        BuildConfig config = busy();
        config.depth_base = depth;
        config.depth_factor = 0;
        expect_plain_tree(scene, config, " depth " + std::to_string(depth));
    }
    for (const std::uint32_t snap : {0U, 50U, 65535U}) {
        BuildConfig config = busy();
        config.snap_limit = snap;
        expect_plain_tree(scene, config, " snap_limit " + std::to_string(snap));
    }
    for (const auto& [name, config] : presets()) expect_plain_tree(scene, config, " " + name);
    BuildConfig config = busy();
    config.clip = false;
    expect_plain_tree(scene, config, " not clipped");
}

TEST_P(BuilderTest, RandomRulesGiveTheSameTree) {
    for_random_rules(lockstep() ? 2 : 20, lockstep() ? 40 : 200,
                     [](Dice&, const scenes::Scene& scene, const BuildConfig& config) {
                         const BuildResult result = build(scene, config);
                         // Rules without limits ask for trees that the pool does not hold.
                         if (result.status == Status::pool_exhausted) return;
                         ASSERT_EQ(result.status, Status::done) << result.message;
                         EXPECT_EQ(digest(result.tree), digest(plain_tree(scene, config)));
                     });
}

TEST_P(BuilderTest, ArraysBeyondAWarpsOwnMemoryComeFromTheAllocator) {
    // Long triangles side by side, each a little further along the axis than the one before: every
    // plane cuts off a few of their ends and leaves nearly all references on the other side.
    std::vector<glm::vec3> corners;
    for (int i = 0; i < 60; ++i) {
        const auto x = static_cast<float>(i * i);
        corners.insert(corners.end(), {{x, 0, 0}, {x + 1e5F, 0, 1e-3F}, {x + 1e5F, 1e-3F, 0}});
    }
    const auto scene = scene_of(corners);
    BuildConfig config = large_arrays(busy());
    config.traversal_cost = 0;
    config.leaf_limit = 1;
    config.exact_limit = 64;
    config.large_limit = 64;
    config.depth_base = lockstep() ? 12 : 16;
    config.depth_factor = 0;
    config.max_nodes = config.max_references = 1 << 16;
    config.max_duplication = 0;  // an attempt is one build, whatever its tree
    const Attempt result = attempt(scene, config);
    ASSERT_EQ(result.status, Status::done) << result.message;
    EXPECT_EQ(digest(result.tree), digest(plain_tree(scene, config)));
    EXPECT_GT(result.statistics.requests, 1U) << "there was room for all";
    if (traits().full) {
        EXPECT_EQ(result.leaked_bytes, 0U);
    }
}

TEST_P(BuilderTest, HugeLeafLimitMakesTheRootALeaf) {
    const auto scene = generated("soup");
    BuildConfig config = busy();
    config.leaf_limit = ~0U;
    config.leaf_area = 0;
    const BuildResult result = build(scene, config);
    ASSERT_EQ(result.status, Status::done) << result.message;
    ASSERT_EQ(result.tree.nodes.size(), 1U);
    EXPECT_TRUE(result.tree.nodes[0].is_leaf());
    EXPECT_EQ(result.tree.references.size(), scene.triangles.size());
}

TEST_P(BuilderTest, CountsWhatItAsksFor) {
    const auto scene = generated("soup");
    const Attempt result = attempt(scene, busy());
    ASSERT_EQ(result.status, Status::done) << result.message;
    const allocators::Statistics& s = result.statistics;
    // The root's array, and one for each child of a node whose children both have references; or
    // one for both.
    const std::uint64_t splits = divided_nodes(result.tree);
    const bool frees = traits().frees_individually;
    if (asks_for_several()) {
        EXPECT_LE(s.requests, 1 + splits);
        EXPECT_GT(s.requests, 1 + splits / 32);
    } else {
        EXPECT_EQ(s.requests, 1 + (frees ? 2 : 1) * splits);
    }
    EXPECT_EQ(s.frees, frees ? s.requests : 0);
    EXPECT_EQ(s.failed, 0U);
    EXPECT_GE(s.peak_live_bytes, root_array_bytes(scene.triangles.size()));
}

TEST_P(BuilderTest, FramesHaveTheTreesOfOrdinaryBuilds) {
    Dice dice;
    std::vector<scenes::Scene> frames(lockstep() ? 2 : 5, generated("sphere"));
    const scenes::Bounds around = frames[0].bounds;
    for (scenes::Scene& frame : frames) {
        const float reach = dice.uniform(0, 0.2F);
        for (glm::vec3& position : frame.positions) position += dice.point(-reach, reach);
        frame.bounds = {around.lo - glm::vec3(0.2F), around.hi + glm::vec3(0.2F)};
    }
    const std::vector<std::uint64_t> digests =
        subject().rebuild(frames, busy(), subject().pool_bytes);
    ASSERT_GE(digests.size(), frames.size());
    ASSERT_EQ(digests.size() % frames.size(), 0U) << "builds that failed";
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::uint64_t wanted = digest(plain_tree(frames[i], busy()));
        for (std::size_t way = i; way < digests.size(); way += frames.size()) {
            EXPECT_EQ(digests[way], wanted) << "frame " << i << ", build " << way;
        }
    }
}

TEST_P(BuilderTest, AsksForArraysOfLargeNodesOnlyIfTold) {
    // Other warps that take small nodes on have arrays for them from the allocator.
    if (subject().threads != 1) GTEST_SKIP() << "for one warp alone";
    const auto scene = generated("soup");
    BuildConfig config;
    config.leaf_limit = 1;
    const Attempt every = attempt(scene, config);
    const Attempt large = attempt(scene, large_arrays(config));
    ASSERT_EQ(large.status, Status::done) << large.message;
    EXPECT_LT(large.statistics.requests * 10, every.statistics.requests);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
