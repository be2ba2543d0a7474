/// @file
/// Whole builds end in good order when the pool, the nodes or the references run out.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/single/builder_fixture.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

class ExhaustionTest : public BuilderFixture {};
INSTANTIATE_TEST_SUITE_P(, ExhaustionTest, ::testing::ValuesIn(build_subjects()),
                         BuilderFixture::name_of);

TEST_P(ExhaustionTest, RefusedRequestsEndTheBuildAndLeaveThePoolWhole) {
    const auto scene = generated("soup");
    const std::uint64_t wanted = digest(plain_tree(scene, busy()));
    const auto all = attempt(scene, busy());
    ASSERT_EQ(all.status, Status::done) << all.message;
    EXPECT_EQ(digest(all.tree), wanted);
    expect_pool_is_whole(all, "nothing refused");
    const std::uint64_t once = all.statistics.requests;
    // Where another build may ask less or more often, it surely does not so twice as often.
    const std::uint64_t least = asks_for_several() ? once / 2 : once;
    const std::uint64_t most = asks_for_several() ? 2 * once : once;

    std::vector<std::uint64_t> passes{0, 1, 2, 3, 4, 5, 7, 10};
    for (std::uint64_t n = 13; n < least; n += n / 3) passes.push_back(n);
    passes.push_back(least - 1);
    for (const std::uint64_t n : passes) {
        if (lockstep() && n > 3 && n % 5 != 0) continue;
        const auto a = attempt(scene, busy(), {.after = n});
        const std::string what = "after " + std::to_string(n) + " of " + std::to_string(once);
        EXPECT_EQ(a.status, Status::pool_exhausted) << what;
        const std::uint64_t granted = a.statistics.requests - a.statistics.failed;
        if (subject().allocates_pairs) {
            // A pair of which one half is refused is refused as a whole: one a thread at most.
            EXPECT_LE(granted, n) << what;
            EXPECT_LE(n - granted, subject().warps(busy())) << what;
        } else {
            EXPECT_EQ(granted, n) << what;
        }
        EXPECT_GT(a.state.failed_bytes, 0U) << what;
        EXPECT_NE(a.message.find("no room"), std::string::npos) << a.message;
        EXPECT_NE(a.message.find(std::to_string(a.state.failed_bytes)), std::string::npos)
            << a.message;
        expect_pool_is_whole(a, what);
    }
    const auto enough = attempt(scene, busy(), {.after = most});
    ASSERT_EQ(enough.status, Status::done) << enough.message;
    EXPECT_EQ(digest(enough.tree), wanted);
}

TEST_P(ExhaustionTest, RequestsRefusedHereAndThereEndTheBuildToo) {
    const auto scene = generated("sphere");
    Dice dice;
    unsigned failed = 0;
    for (int i = 0; i < (lockstep() ? 4 : 30); ++i) {
        // Small scenes have few requests: of these the first build is refused every second one.
        const std::uint64_t period = i == 0 ? 2 : 2 + dice.below(lockstep() ? 20 : 500);
        const std::uint64_t seed = dice();
        const BuildConfig config = i % 2 == 0 ? busy() : large_arrays(busy());
        const auto a = attempt(scene, config, {.one_in = period, .seed = seed});
        const std::string what = "one in " + std::to_string(period);
        // A small node that could not be given an array of its own stays with its warp; and nodes
        // whose common request is refused ask one by one.
        const bool refused = a.statistics.failed > 0;
        EXPECT_TRUE(a.status == Status::done || refused) << what;
        if (config.small_arrays && !asks_for_several()) {
            EXPECT_FALSE(a.status == Status::done && refused) << what;
        }
        if (a.status != Status::done) {
            EXPECT_EQ(a.status, Status::pool_exhausted) << what;
            ++failed;
        }
        expect_pool_is_whole(a, what);
    }
    EXPECT_GT(failed, 0U);
}

TEST_P(ExhaustionTest, PoolsOfAllSizesEndInATreeOrAMessage) {
    const std::uint64_t smallest = traits().smallest_pool;
    if (lockstep()) GTEST_SKIP() << "too slow";
    if (subject().threads == 0 && !traits().walkable) {
        GTEST_SKIP() << "the size of CUDA's own pool cannot be changed within a process";
    }
    // The smallest pool that the allocator accepts must be too small for the root.
    const auto scene = scenes::generate(
        {"soup", std::max<std::uint64_t>(subject().triangles, smallest / sizeof(Reference) + 10),
         1});
    const std::uint64_t root = root_array_bytes(scene.triangles.size());
    const std::uint64_t wanted = digest(plain_tree(scene, BuildConfig{}));
    unsigned done = 0;
    unsigned exhausted = 0;
    for (const double times : {0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 100.0}) {
        const auto bytes =
            std::max(smallest, static_cast<std::uint64_t>(times * static_cast<double>(root)));
        const BuildResult result = build(scene, BuildConfig{}, bytes);
        const auto a = attempt(scene, BuildConfig{}, {}, bytes);
        const std::string what = std::to_string(times) + " times the root";
        expect_pool_is_whole(a, what);
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
std::uint64_t last_number(const std::string& text) {
    const std::size_t end = text.find_last_of("0123456789");
    if (end == std::string::npos) return 0;
    const std::size_t before = text.find_last_not_of("0123456789", end);
    return std::stoull(text.substr(before == std::string::npos ? 0 : before + 1));
}

TEST_P(ExhaustionTest, TooFewNodesAreReportedWithTheNumberThatSuffices) {
    const auto scene = generated("soup");
    BuildConfig config = busy();
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    for (const std::uint64_t nodes : {std::uint64_t{1}, subject().triangles / 4}) {
        if (lockstep() && nodes == 1) continue;
        config.max_nodes = nodes;
        const BuildResult result = build(scene, config);
        ASSERT_EQ(result.status, Status::nodes_exhausted) << result.message;
        EXPECT_TRUE(result.tree.nodes.empty());
        EXPECT_NE(result.message.find("holds " + std::to_string(nodes) + " nodes"),
                  std::string::npos)
            << result.message;
        config.max_nodes = last_number(result.message);
        expect_tree(scene, config, wanted, " with the nodes of: " + result.message);
    }
}

TEST_P(ExhaustionTest, TooFewReferencesAreReportedWithTheNumberThatSuffices) {
    const auto scene = generated("soup");
    BuildConfig config = busy();
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    for (const std::uint64_t references : {std::uint64_t{1}, subject().triangles / 2}) {
        if (lockstep() && references == 1) continue;
        config.max_references = references;
        const BuildResult result = build(scene, config);
        ASSERT_EQ(result.status, Status::references_exhausted) << result.message;
        EXPECT_TRUE(result.tree.nodes.empty());
        EXPECT_NE(result.message.find("holds " + std::to_string(references)), std::string::npos)
            << result.message;
        config.max_references = last_number(result.message);
        expect_tree(scene, config, wanted, " with the references of: " + result.message);
    }
}

TEST_P(ExhaustionTest, EstimatesThatAreTooSmallGrow) {
    if (lockstep()) GTEST_SKIP() << "too slow";
    // Long thin triangles across one another, without clipping and as deep as may be: many more
    // references than anybody expects.
    const auto scene = random_scene("slivers", 1000, 1);
    BuildConfig config = busy();
    config.leaf_limit = 1;
    config.traversal_cost = 0;
    config.clip = false;
    config.depth_base = 14;
    const auto first = attempt(scene, config);
    if (subject().threads != 0) {
        ASSERT_TRUE(first.status == Status::references_exhausted ||
                    first.status == Status::nodes_exhausted)
            << "the scene is too easy";
    }
    expect_plain_tree(scene, config);
}

TEST_P(ExhaustionTest, ThePoolMayRunOutAfterTheNodes) {
    const auto scene = generated("soup");
    Dice dice;
    BuildConfig config = busy();
    config.max_nodes = 3;
    for (int i = 0; i < (lockstep() ? 3 : kSlow ? 20 : 50); ++i) {
        const std::uint64_t passes = dice.below(subject().triangles / 2);
        const std::uint64_t period = 2 + dice.below(100);
        const std::uint64_t seed = dice();
        const bool once = i % 2 == 0;
        const auto a =
            attempt(scene, config,
                    once ? Refusals{.after = passes} : Refusals{.one_in = period, .seed = seed});
        const std::string what =
            once ? "after " + std::to_string(passes) : "one in " + std::to_string(period);
        EXPECT_NE(a.status, Status::done) << what;
        expect_pool_is_whole(a, what);
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
