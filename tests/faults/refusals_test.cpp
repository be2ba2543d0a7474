/// @file
/// Every request of a build is refused once, and once with all that follow: the build ends with a
/// clean status, the pool is whole, and the next build in it has the right tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "tests/faults/faulty_build.h"
#include "tests/faults/watched.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/thorough.h"

namespace heapwood::kdtree::tests {
namespace {

using heapwood::tests::AnyPool;
using heapwood::tests::AnySubject;
using heapwood::tests::Steps;
using heapwood::tests::subjects;
using heapwood::tests::thorough;

/// Nodes are large, medium and small even in a scene of a few triangles.
BuildConfig small_nodes(bool small_arrays) {
    BuildConfig config;
    config.exact_limit = 12;
    config.snap_limit = 24;
    config.large_limit = 32;
    config.chunk = 32;
    config.leaf_limit = 4;
    config.max_duplication = 0;
    config.small_arrays = small_arrays;
    return config;
}

constexpr Crew kCrews[] = {{1, false}, {2, false}, {8, false}, {32, false}, {2, true}};

class RefusalsTest : public ::testing::TestWithParam<const AnySubject*> {
protected:
    static const AnySubject& subject() { return *GetParam(); }
    static const allocators::Traits& traits() { return subject().traits; }

    static void expect_pool_is_whole(const AnyPool& pool, const std::string& what) {
        const allocators::Statistics s = pool.statistics();
        if (traits().frees_individually) {
            EXPECT_EQ(s.live_bytes, 0U) << what;
            if (!traits().splittable) {
                EXPECT_EQ(s.requests - s.failed, s.frees) << what;
            }
        }
        if (traits().full && traits().walkable) {
            EXPECT_EQ(pool.use().allocated_bytes, 0U) << what;
        }
    }
    /// A pool of which not everything can be freed must begin anew.
    static void make_ready(AnyPool& pool) {
        if (!traits().full) pool.reset();
    }

    /// All requests of builds by one crew. @return how many builds there were.
    static void refuse_all(const scenes::Scene& scene, const BuildConfig& config, const Crew& crew,
                           const std::string& what, Dice& dice, Steps& steps);
};

void RefusalsTest::refuse_all(const scenes::Scene& scene, const BuildConfig& config,
                              const Crew& crew, const std::string& what, Dice& dice, Steps& steps) {
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    FaultyBuilder builder(scene, config, crew);
    const auto pool =
        builder.make(subject(), std::max<std::uint64_t>(1U << 20, traits().smallest_pool));
    const auto build = [&] { return builder.build(*pool, subject().allocates_pairs); };
    const auto expect_right = [&](const std::string& when) {
        pool->fail_one_in(0, 0);
        make_ready(*pool);
        const Ending ending = build();
        EXPECT_EQ(ending.status, Status::done) << when;
        EXPECT_EQ(ending.digest, wanted) << when;
        expect_pool_is_whole(*pool, when);
    };
    steps.begin(what + ": nothing refused");
    expect_right(steps.what());
    const std::uint64_t most = pool->statistics().requests;
    ASSERT_GT(most, 0U);

    std::vector<std::uint64_t> numbers;
    if (thorough()) {
        for (std::uint64_t k = 0; k < most; ++k) numbers.push_back(k);
    } else {
        numbers = {dice.below(most)};
        if (!crew.lockstep) numbers.insert(numbers.end(), {0, most - 1});
    }
    for (const std::uint64_t k : numbers) {
        for (const bool once : {true, false}) {
            steps.begin(what + ": request " + std::to_string(k) + " of " + std::to_string(most) +
                        (once ? " refused" : " and all later ones refused"));
            make_ready(*pool);
            once ? pool->fail_only(k) : pool->fail_after(k);
            const std::uint64_t failed = pool->statistics().failed;
            const Ending ending = build();
            const bool refused = pool->statistics().failed > failed;
            if (ending.status == Status::done) {
                // A small node that cannot be given an array of its own stays with its warp.
                EXPECT_TRUE(!refused || !config.small_arrays) << steps.what();
                EXPECT_EQ(ending.digest, wanted) << steps.what();
            } else {
                EXPECT_EQ(ending.status, Status::pool_exhausted) << steps.what();
                EXPECT_TRUE(refused) << steps.what();
                EXPECT_GT(ending.failed_bytes, 0U) << steps.what();
            }
            expect_pool_is_whole(*pool, steps.what());
            expect_right(steps.what() + ", the build after it");
            if (HasFailure()) return;  // one is enough to read
        }
    }
}

TEST_P(RefusalsTest, EveryRequestRefusedLeavesThePoolWhole) {
    Dice dice;
    const std::uint64_t builds =
        heapwood::tests::run_watched(std::chrono::seconds(120), [&](Steps& steps) {
            for (const bool small_arrays : {true, false}) {
                for (const char* kind : {"soup", "boxes"}) {
                    for (const Crew crew : kCrews) {
                        if (crew.lockstep && kind[0] == 'b' && !thorough()) continue;
                        // Warps of 32 threads take their time.
                        const auto scene = random_scene(kind, crew.lockstep ? 40 : 70, dice());
                        refuse_all(scene, small_nodes(small_arrays), crew,
                                   "seed " + std::to_string(dice.seed()) + ", " + scene.path +
                                       ", " + crew.name() +
                                       (small_arrays ? ", arrays every" : ", arrays large"),
                                   dice, steps);
                        if (HasFailure()) return;
                    }
                }
            }
        });
    std::cout << "attempts: " << builds << std::endl;
    RecordProperty("attempts", static_cast<int>(builds));
}

std::vector<const AnySubject*> pointers() {
    std::vector<const AnySubject*> all;
    for (const AnySubject& subject : subjects()) all.push_back(&subject);
    return all;
}
INSTANTIATE_TEST_SUITE_P(, RefusalsTest, ::testing::ValuesIn(pointers()),
                         [](const auto& subject) { return subject.param->name; });

}  // namespace
}  // namespace heapwood::kdtree::tests
