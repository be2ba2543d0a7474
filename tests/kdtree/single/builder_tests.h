/// @file
/// Whole builds, alike on every machine for allocators of every kind: they give the same tree
/// whatever the schedule, and end in good order when anything runs out.
/// tests/app/backends/backends_test.cpp has what is tested with every allocator.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenes/generators.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

template <class S>
class BuilderTest : public ::testing::Test {
protected:
    using Allocator = typename S::Allocator;
    using Machine = typename S::Machine;
    static constexpr bool kLockstep = Machine::kThreads > 8;

    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
    }

    static BuildResult build(const scenes::Scene& scene, const BuildConfig& config,
                             std::uint64_t pool_bytes = kPoolBytes<Machine>) {
        return build_on<Allocator>(Machine::template make<Allocator>(config), scene, config,
                                   {.pool_bytes = pool_bytes});
    }
    /// A build whose requests are counted.
    static Attempt counted(const scenes::Scene& scene, const BuildConfig& config) {
        return attempt<Allocator, Machine>(scene, config, kPoolBytes<Machine>, [](auto&) {});
    }
    /// The build is done, nothing leaked, and the tree is the one of `plain_tree`.
    static void expect_tree(const scenes::Scene& scene, const BuildConfig& config,
                            std::uint64_t wanted, const std::string& what = {}) {
        const BuildResult result = build(scene, config);
        ASSERT_EQ(result.status, Status::done) << scene.path << what << ": " << result.message;
        EXPECT_EQ(result.message, "");
        EXPECT_EQ(digest(result.tree), wanted) << scene.path << what;
        if (Allocator::traits().full) {
            EXPECT_EQ(result.leaked_bytes, 0U) << scene.path << what;
        }
    }
    /// With arrays from the allocator for all nodes, and for large ones only.
    static void expect_plain_tree(const scenes::Scene& scene, const BuildConfig& config,
                                  const std::string& what = {}) {
        const std::uint64_t wanted = digest(plain_tree(scene, config));
        expect_tree(scene, config, wanted, what);
        expect_tree(scene, large_arrays(config), wanted, what + ", large arrays");
    }
    static BuildConfig large_arrays(BuildConfig config) {
        config.small_arrays = false;
        return config;
    }

    /// A scene of the size that suits the machine.
    static scenes::Scene generated(const std::string& name, std::uint64_t seed = 1) {
        return scenes::generate({name, Machine::kTriangles, seed});
    }
    /// Nodes are large, medium and small even in the machine's small scenes.
    static BuildConfig busy() {
        BuildConfig config;
        config.exact_limit = kLockstep ? 16 : 32;
        config.snap_limit = kLockstep ? 40 : 128;
        config.large_limit = kLockstep ? 32 : 64;
        config.chunk = 32;
        return config;
    }
};

TYPED_TEST_SUITE_P(BuilderTest);

TYPED_TEST_P(BuilderTest, BuildsTheSameTreeAsOneThread) {
    using T = TestFixture;
    for (const scenes::GeneratorInfo& info : scenes::generators()) {
        if (T::kLockstep && info.name.size() % 3 != 0) continue;
        T::expect_plain_tree(T::generated(std::string(info.name)), T::busy());
    }
    if (!T::kLockstep) {
        T::expect_plain_tree(T::generated("soup"), BuildConfig{});
    }
}

TYPED_TEST_P(BuilderTest, BuildsAwkwardScenes) {
    using T = TestFixture;
    Dice dice;
    const std::vector<unsigned> counts =
        T::kLockstep ? std::vector<unsigned>{1, 34} : std::vector<unsigned>{1, 2, 5, 33, 64, 150};
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : counts) {
            T::expect_plain_tree(random_scene(kind, count, dice()), T::busy());
        }
    }
}

TYPED_TEST_P(BuilderTest, SharingOfWorkChangesNothing) {
    using T = TestFixture;
    const auto scene = T::generated("soup");
    BuildConfig config = T::busy();
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    const std::vector<std::uint32_t> chunks =
        T::kLockstep ? std::vector<std::uint32_t>{32} : std::vector<std::uint32_t>{32, 100, 4096};
    for (const std::uint32_t large : {32U, 64U, 200U, 1U << 20}) {
        if (T::kLockstep && large == 200) continue;
        config.large_limit = std::max(large, config.exact_limit);
        for (const std::uint32_t chunk : chunks) {
            config.chunk = chunk;
            T::expect_tree(scene, config, wanted,
                           " large_limit " + std::to_string(config.large_limit) + " chunk " +
                               std::to_string(chunk));
        }
    }
}

TYPED_TEST_P(BuilderTest, TenRunsGiveOneTree) {
    using T = TestFixture;
    const auto scene = T::generated("city");
    const std::uint64_t wanted = digest(plain_tree(scene, T::busy()));
    for (int i = 0; i < (T::kLockstep ? 2 : 10); ++i) T::expect_tree(scene, T::busy(), wanted);
}

TYPED_TEST_P(BuilderTest, LimitsChangeTheTreeAlike) {
    using T = TestFixture;
    if (T::kLockstep) GTEST_SKIP() << "too slow";
    const auto scene = T::generated("sphere");
    for (const std::uint32_t exact : {0U, 1U, 2U, 31U, 32U, 33U, 63U, 64U}) {
        BuildConfig config;
        config.exact_limit = exact;
        config.large_limit = std::max(exact, 40U);
        T::expect_plain_tree(scene, config, " exact_limit " + std::to_string(exact));
    }
    for (const std::uint32_t leaf : {0U, 1U, 16U, 100U}) {
        BuildConfig config = T::busy();
        config.leaf_limit = leaf;
        T::expect_plain_tree(scene, config, " leaf_limit " + std::to_string(leaf));
    }
    for (const float depth : {0.0F, 1.0F, 5.0F, 60.0F}) {
        BuildConfig config = T::busy();
        config.depth_base = depth;
        config.depth_factor = 0;
        T::expect_plain_tree(scene, config, " depth " + std::to_string(depth));
    }
    for (const std::uint32_t snap : {0U, 50U, 65535U}) {
        BuildConfig config = T::busy();
        config.snap_limit = snap;
        T::expect_plain_tree(scene, config, " snap_limit " + std::to_string(snap));
    }
    for (const auto& [name, config] : presets()) T::expect_plain_tree(scene, config, " " + name);
    BuildConfig config = T::busy();
    config.clip = false;
    T::expect_plain_tree(scene, config, " not clipped");
}

TYPED_TEST_P(BuilderTest, ArraysBeyondAWarpsOwnMemoryComeFromTheAllocator) {
    using T = TestFixture;
    // Long triangles side by side, each a little further along the axis than the one before: every
    // plane cuts off a few of their ends and leaves nearly all references on the other side.
    std::vector<glm::vec3> corners;
    for (int i = 0; i < 60; ++i) {
        const auto x = static_cast<float>(i * i);
        corners.insert(corners.end(), {{x, 0, 0}, {x + 1e5F, 0, 1e-3F}, {x + 1e5F, 1e-3F, 0}});
    }
    const auto scene = scene_of(corners);
    BuildConfig config = T::large_arrays(T::busy());
    config.traversal_cost = 0;
    config.leaf_limit = 1;
    config.exact_limit = 64;
    config.large_limit = 64;
    config.depth_base = T::kLockstep ? 12 : 16;
    config.depth_factor = 0;
    config.max_nodes = config.max_references = 1 << 16;
    const Attempt result = T::counted(scene, config);
    ASSERT_EQ(result.status, Status::done) << result.message;
    EXPECT_EQ(digest(result.tree), digest(plain_tree(scene, config)));
    EXPECT_GT(result.statistics.requests, 1U) << "there was room for all";
    if (T::Allocator::traits().full) {
        EXPECT_EQ(result.leaked_bytes, 0U);
    }
}

TYPED_TEST_P(BuilderTest, HugeLeafLimitMakesTheRootALeaf) {
    using T = TestFixture;
    const auto scene = T::generated("soup");
    BuildConfig config = T::busy();
    config.leaf_limit = ~0U;
    config.leaf_area = 0;
    const BuildResult result = T::build(scene, config);
    ASSERT_EQ(result.status, Status::done) << result.message;
    ASSERT_EQ(result.tree.nodes.size(), 1U);
    EXPECT_TRUE(result.tree.nodes[0].is_leaf());
    EXPECT_EQ(result.tree.references.size(), scene.triangles.size());
}

TYPED_TEST_P(BuilderTest, CountsWhatItAsksFor) {
    using T = TestFixture;
    const auto scene = T::generated("soup");
    const Attempt result = T::counted(scene, T::busy());
    ASSERT_EQ(result.status, Status::done) << result.message;
    const allocators::Statistics& s = result.statistics;
    // The root's array, and one for each child of a node whose children both have references; or
    // one for both.
    std::uint64_t splits = 0;
    for (const Node& node : result.tree.nodes) {
        const auto empty = [&](std::uint32_t child) {
            return result.tree.nodes[child].is_leaf() && result.tree.nodes[child].count() == 0;
        };
        if (!node.is_leaf() && !empty(node.child()) && !empty(node.child() + 1)) ++splits;
    }
    const bool frees = T::Allocator::traits().frees_individually;
    EXPECT_EQ(s.requests, 1 + (frees ? 2 : 1) * splits);
    EXPECT_EQ(s.frees, frees ? s.requests : 0);
    EXPECT_EQ(s.failed, 0U);
    EXPECT_GE(s.peak_live_bytes, root_array_bytes(scene.triangles.size()));
}

TYPED_TEST_P(BuilderTest, AsksForArraysOfLargeNodesOnlyIfTold) {
    using T = TestFixture;
    // Other warps that take small nodes on have arrays for them from the allocator.
    if (T::Machine::kThreads != 1) GTEST_SKIP() << "for one warp alone";
    const auto scene = T::generated("soup");
    BuildConfig config;
    config.leaf_limit = 1;
    const Attempt every = T::counted(scene, config);
    const Attempt large = T::counted(scene, T::large_arrays(config));
    ASSERT_EQ(large.status, Status::done) << large.message;
    EXPECT_LT(large.statistics.requests * 10, every.statistics.requests);
}

// ---------------------------------------------------------------- when something runs out

TYPED_TEST_P(BuilderTest, RefusedRequestsEndTheBuildAndLeaveThePoolWhole) {
    using T = TestFixture;
    using A = typename T::Allocator;
    using M = typename T::Machine;
    const auto scene = T::generated("soup");
    const std::uint64_t wanted = digest(plain_tree(scene, T::busy()));
    const auto all = attempt<A, M>(scene, T::busy(), kPoolBytes<M>, [](auto&) {});
    ASSERT_EQ(all.status, Status::done) << all.message;
    EXPECT_EQ(digest(all.tree), wanted);
    expect_pool_is_whole<A>(all, "nothing refused");
    const std::uint64_t most = all.statistics.requests;

    std::vector<std::uint64_t> passes{0, 1, 2, 3, 4, 5, 7, 10};
    for (std::uint64_t n = 13; n < most; n += n / 3) passes.push_back(n);
    passes.push_back(most - 1);
    for (const std::uint64_t n : passes) {
        if (T::kLockstep && n > 3 && n % 5 != 0) continue;
        const auto a = attempt<A, M>(scene, T::busy(), kPoolBytes<M>,
                                     [n](auto& limiting) { limiting.fail_after(n); });
        const std::string what = "after " + std::to_string(n) + " of " + std::to_string(most);
        EXPECT_EQ(a.status, Status::pool_exhausted) << what;
        const std::uint64_t granted = a.statistics.requests - a.statistics.failed;
        if (allocators::AllocatesPairs<typename A::Ref>) {
            // A pair of which one half is refused is refused as a whole: one a thread at most.
            EXPECT_LE(granted, n) << what;
            EXPECT_LE(n - granted, M::template make<A>(T::busy()).warps()) << what;
        } else {
            EXPECT_EQ(granted, n) << what;
        }
        EXPECT_GT(a.state.failed_bytes, 0U) << what;
        EXPECT_NE(a.message.find("no room"), std::string::npos) << a.message;
        EXPECT_NE(a.message.find(std::to_string(a.state.failed_bytes)), std::string::npos)
            << a.message;
        expect_pool_is_whole<A>(a, what);
    }
    const auto enough = attempt<A, M>(scene, T::busy(), kPoolBytes<M>,
                                      [most](auto& limiting) { limiting.fail_after(most); });
    ASSERT_EQ(enough.status, Status::done) << enough.message;
    EXPECT_EQ(digest(enough.tree), wanted);
}

TYPED_TEST_P(BuilderTest, RequestsRefusedHereAndThereEndTheBuildToo) {
    using T = TestFixture;
    using A = typename T::Allocator;
    using M = typename T::Machine;
    const auto scene = T::generated("sphere");
    Dice dice;
    unsigned failed = 0;
    for (int i = 0; i < (T::kLockstep ? 4 : 30); ++i) {
        const std::uint64_t period = 2 + dice.below(T::kLockstep ? 20 : 500);
        const std::uint64_t seed = dice();
        const BuildConfig config = i % 2 == 0 ? T::busy() : T::large_arrays(T::busy());
        const auto a = attempt<A, M>(scene, config, kPoolBytes<M>,
                                     [&](auto& limiting) { limiting.fail_one_in(period, seed); });
        const std::string what = "one in " + std::to_string(period);
        // A small node that could not be given an array of its own stays with its warp.
        const bool refused = a.statistics.failed > 0;
        EXPECT_TRUE(a.status == Status::done || refused) << what;
        EXPECT_FALSE(a.status == Status::done && refused && config.small_arrays) << what;
        if (a.status != Status::done) {
            EXPECT_EQ(a.status, Status::pool_exhausted) << what;
            ++failed;
        }
        expect_pool_is_whole<A>(a, what);
    }
    EXPECT_GT(failed, 0U);
}

TYPED_TEST_P(BuilderTest, PoolsOfAllSizesEndInATreeOrAMessage) {
    using T = TestFixture;
    using A = typename T::Allocator;
    using M = typename T::Machine;
    constexpr std::uint64_t smallest = A::traits().smallest_pool;
    if (T::kLockstep) GTEST_SKIP() << "too slow";
    if (M::kThreads == 0 && !A::traits().walkable) {
        GTEST_SKIP() << "the size of CUDA's own pool cannot be changed within a process";
    }
    // The smallest pool that the allocator accepts must be too small for the root.
    const auto scene = scenes::generate(
        {"soup", std::max<std::uint64_t>(M::kTriangles, smallest / sizeof(Reference) + 10), 1});
    const std::uint64_t root = root_array_bytes(scene.triangles.size());
    const std::uint64_t wanted = digest(plain_tree(scene, BuildConfig{}));
    unsigned done = 0;
    unsigned exhausted = 0;
    for (const double times : {0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 100.0}) {
        const auto bytes =
            std::max(smallest, static_cast<std::uint64_t>(times * static_cast<double>(root)));
        const BuildResult result = T::build(scene, BuildConfig{}, bytes);
        const auto a = attempt<A, M>(scene, BuildConfig{}, bytes, [](auto&) {});
        const std::string what = std::to_string(times) + " times the root";
        expect_pool_is_whole<A>(a, what);
        if (result.status == Status::done) {
            EXPECT_EQ(digest(result.tree), wanted) << what;
            ++done;
            continue;
        }
        EXPECT_EQ(result.status, Status::pool_exhausted) << what;
        EXPECT_TRUE(result.tree.nodes.empty()) << what;
        EXPECT_NE(result.message.find(std::to_string(bytes) + " bytes"), std::string::npos)
            << result.message;
        ++exhausted;
        if (times == 0) {
            EXPECT_NE(result.message.find(std::to_string(root)), std::string::npos)
                << result.message;
        }
    }
    EXPECT_GT(done, 0U) << "the largest pool suffices for all allocators";
    EXPECT_GT(exhausted, 1U) << "the smallest pools are too small";
}

/// The last number in a text.
inline std::uint64_t last_number(const std::string& text) {
    const std::size_t end = text.find_last_of("0123456789");
    if (end == std::string::npos) return 0;
    const std::size_t before = text.find_last_not_of("0123456789", end);
    return std::stoull(text.substr(before == std::string::npos ? 0 : before + 1));
}

TYPED_TEST_P(BuilderTest, TooFewNodesAreReportedWithTheNumberThatSuffices) {
    using T = TestFixture;
    const auto scene = T::generated("soup");
    BuildConfig config = T::busy();
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    for (const std::uint64_t nodes : {std::uint64_t{1}, T::Machine::kTriangles / 4}) {
        if (T::kLockstep && nodes == 1) continue;
        config.max_nodes = nodes;
        const BuildResult result = T::build(scene, config);
        ASSERT_EQ(result.status, Status::nodes_exhausted) << result.message;
        EXPECT_TRUE(result.tree.nodes.empty());
        EXPECT_NE(result.message.find("holds " + std::to_string(nodes) + " nodes"),
                  std::string::npos)
            << result.message;
        config.max_nodes = last_number(result.message);
        T::expect_tree(scene, config, wanted, " with the nodes of: " + result.message);
    }
}

TYPED_TEST_P(BuilderTest, TooFewReferencesAreReportedWithTheNumberThatSuffices) {
    using T = TestFixture;
    const auto scene = T::generated("soup");
    BuildConfig config = T::busy();
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    for (const std::uint64_t references : {std::uint64_t{1}, T::Machine::kTriangles / 2}) {
        if (T::kLockstep && references == 1) continue;
        config.max_references = references;
        const BuildResult result = T::build(scene, config);
        ASSERT_EQ(result.status, Status::references_exhausted) << result.message;
        EXPECT_TRUE(result.tree.nodes.empty());
        EXPECT_NE(result.message.find("holds " + std::to_string(references)), std::string::npos)
            << result.message;
        config.max_references = last_number(result.message);
        T::expect_tree(scene, config, wanted, " with the references of: " + result.message);
    }
}

TYPED_TEST_P(BuilderTest, EstimatesThatAreTooSmallGrow) {
    using T = TestFixture;
    if (T::kLockstep) GTEST_SKIP() << "too slow";
    // Long thin triangles across one another, without clipping and as deep as may be: many more
    // references than anybody expects.
    const auto scene = random_scene("slivers", 1000, 1);
    BuildConfig config = T::busy();
    config.leaf_limit = 1;
    config.traversal_cost = 0;
    config.clip = false;
    config.depth_base = 14;
    const auto first = attempt<typename T::Allocator, typename T::Machine>(
        scene, config, kPoolBytes<typename T::Machine>, [](auto&) {});
    if (T::Machine::kThreads != 0) {
        ASSERT_TRUE(first.status == Status::references_exhausted ||
                    first.status == Status::nodes_exhausted)
            << "the scene is too easy";
    }
    T::expect_plain_tree(scene, config);
}

TYPED_TEST_P(BuilderTest, ThePoolMayRunOutAfterTheNodes) {
    using T = TestFixture;
    using A = typename T::Allocator;
    using M = typename T::Machine;
    const auto scene = T::generated("soup");
    Dice dice;
    BuildConfig config = T::busy();
    config.max_nodes = 3;
    for (int i = 0; i < (T::kLockstep ? 3 : kSlow ? 20 : 50); ++i) {
        const std::uint64_t passes = dice.below(M::kTriangles / 2);
        const std::uint64_t period = 2 + dice.below(100);
        const std::uint64_t seed = dice();
        const bool once = i % 2 == 0;
        const auto a = attempt<A, M>(scene, config, kPoolBytes<M>, [&](auto& limiting) {
            once ? limiting.fail_after(passes) : limiting.fail_one_in(period, seed);
        });
        const std::string what =
            once ? "after " + std::to_string(passes) : "one in " + std::to_string(period);
        EXPECT_NE(a.status, Status::done) << what;
        expect_pool_is_whole<A>(a, what);
    }
}

REGISTER_TYPED_TEST_SUITE_P(
    BuilderTest, BuildsTheSameTreeAsOneThread, BuildsAwkwardScenes, SharingOfWorkChangesNothing,
    TenRunsGiveOneTree, LimitsChangeTheTreeAlike, ArraysBeyondAWarpsOwnMemoryComeFromTheAllocator,
    HugeLeafLimitMakesTheRootALeaf, AsksForArraysOfLargeNodesOnlyIfTold, CountsWhatItAsksFor,
    RefusedRequestsEndTheBuildAndLeaveThePoolWhole, RequestsRefusedHereAndThereEndTheBuildToo,
    PoolsOfAllSizesEndInATreeOrAMessage, TooFewNodesAreReportedWithTheNumberThatSuffices,
    TooFewReferencesAreReportedWithTheNumberThatSuffices, EstimatesThatAreTooSmallGrow,
    ThePoolMayRunOutAfterTheNodes);

}  // namespace heapwood::kdtree::tests
