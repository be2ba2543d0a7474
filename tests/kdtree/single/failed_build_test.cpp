/// @file
/// What a build does after its pool has run out: no node without a decision is divided, by
/// whichever warp, all arrays are freed, and it ends soon. What is reported of several failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "kdtree/single/cpu_machine.h"
#include "kdtree/single/single_builder.h"
#include "scenes/generators.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

using Queue = TaskQueue<Piece>;

/// The host's malloc. At one of the requests another warp is made up, which has just waited for
/// work and then seen the pool run out.
struct Interrupted {
    static constexpr allocators::Traits traits() {
        return {.name = "interrupted",
                .title = "malloc, interrupted",
                .source = "",
                .frees_individually = true,
                .full = true,
                .walkable = false,
                .header_bytes = 0,
                .smallest_pool = 0};
    }
    class Ref {
    public:
        Ref(BuildState& state, unsigned at, unsigned& requests, int& live)
            : state_(state), at_(at), requests_(requests), live_(live) {}

        void* allocate(const allocators::Context&, std::size_t bytes) const {
            if (++requests_ == at_) {
                state_.queue_head.ref().add_relaxed(1);
                state_.status.ref().exchange_acq_rel(
                    static_cast<std::uint32_t>(Status::pool_exhausted));
            }
            ++live_;
            return std::aligned_alloc(alignof(Reference), std::max(bytes, sizeof(Reference)));
        }
        void deallocate(const allocators::Context&, void* p, std::size_t) const {
            --live_;
            std::free(p);
        }

    private:
        BuildState& state_;
        unsigned at_;
        unsigned& requests_;
        int& live_;
    };
};

class FailedBuild : public ::testing::Test {
protected:
    static constexpr std::uint32_t kTriangles = 1000;

    /// Nodes above this many references are divided in the first stage.
    static BuildConfig config(std::uint32_t large_limit) {
        BuildConfig c;
        c.small_arrays = false;
        c.exact_limit = 32;
        c.large_limit = large_limit;
        return c;
    }

    void TearDown() override { EXPECT_EQ(live_, 0) << "arrays that were not freed"; }

    /// Makes ready for a build; the memory is that of two warps.
    void prepare(std::uint32_t large_limit) {
        memory_.emplace(pool_, scene_, config(large_limit), 2);
        memory_->reset();
    }
    const Problem& problem() { return memory_->problem(); }
    BuildState& state() { return *problem().state; }
    Interrupted::Ref allocator(unsigned fails_at) { return {state(), fails_at, requests_, live_}; }
    /// The build by one warp, which does not wait for a second one.
    void work(const Interrupted::Ref& allocator) {
        Scratch<platform::SerialWarp> scratch{};
        BuildWorker<platform::SerialWarp, SoloTeam, Interrupted>(
            {}, {0, 1}, problem(), allocator, {.multiprocessor = 0, .warp = 0}, scratch)
            .run();
    }
    Queue queue() {
        return {problem().slots, problem().slot_bits, &state().queue_head, &state().queue_tail};
    }

    const scenes::Scene scene_ = scenes::generate({"sphere", kTriangles, 1});
    allocators::ArrayPool pool_{allocators::Place::host};
    std::optional<BuildMemory> memory_;
    unsigned requests_ = 0;
    int live_ = 0;
};

TEST_F(FailedBuild, GivesNoNodeAway) {
    // The failure comes between the decision on the root and that on its children.
    prepare(2 * kTriangles);
    const auto failing = allocator(3);
    std::thread builder([&] { work(failing); });
    unsigned given = 0;
    while (state().done.ref().load_acquire() == 0) {
        if (!queue().poll(0)) continue;
        const Piece piece = queue().task_of(0);
        queue().release(0);
        ++given;
        failing.deallocate({}, piece.references, 0);
        if (state().outstanding.ref().sub_acq_rel(1) == 1) state().done.ref().store_release(1);
    }
    builder.join();
    EXPECT_EQ(requests_, 3U);
    EXPECT_EQ(given, 0U);
}

TEST_F(FailedBuild, EndsSoonWhereverItFails) {
    // The root's array, then two for each node that is divided: first all large ones.
    prepare(64);
    work(allocator(~0U));
    const unsigned all = requests_;
    const unsigned large = static_cast<unsigned>(state().large >> 32);
    ASSERT_GT(large, 20U);
    for (unsigned fails_at = 1; fails_at < all; ++fails_at) {
        prepare(64);
        requests_ = 0;
        work(allocator(fails_at));
        EXPECT_EQ(live_, 0) << "failed at request " << fails_at;
        // The node's other child may still get an array, and then nothing is asked for any more.
        EXPECT_LE(requests_, fails_at + 1);
    }
}

TEST(FailedBuilds, EndOnManyThreads) {
    const auto scene = scenes::generate({"sphere", kSlow ? 1000 : 10000, 1});
    BuildConfig config;
    config.small_arrays = false;
    config.exact_limit = 32;
    Dice dice;
    unsigned failed = 0;
    for (int i = 0; i < (kSlow ? 5 : 50); ++i) {
        config.large_limit = i % 2 == 0 ? 0 : 64;
        const std::uint64_t passes = 1 + dice.below(60);
        const auto a = attempt<allocators::AtomicMalloc, Threads<16>>(
            scene, config, kPoolBytes<Threads<16>>, {.after = passes});
        if (a.status == Status::pool_exhausted) ++failed;
    }
    EXPECT_GT(failed, 0U);
}

/// A budget, and an array of references that is large enough for all: no count of them ends a
/// build.
BuildConfig three_references_a_triangle() {
    BuildConfig config;
    config.max_duplication = 3;
    config.small_arrays = false;
    config.max_references = std::uint64_t{1} << 20;
    return config;
}

TEST(FailedBuilds, AreBuiltToASmallerDepthIfTheyAreOverTheirBudget) {
    using Limited = heapwood::tests::Limiting<allocators::AtomicMalloc>;
    const auto scene = fan(120);
    const BuildConfig config = three_references_a_triangle();
    const CpuMachine machine(1);
    BuildResult result;
    SingleBuilder builder(machine, scene, config, {.pool_bytes = kPoolBytes<Threads<1>>}, result);
    auto allocator = builder.make_allocator<Limited>(result);
    unsigned over = 0;
    unsigned unknown = 0;
    unsigned within = 0;
    for (std::uint64_t passes = 1; passes < 4000; passes += passes / 2 + 1) {
        builder.load(scene, result);
        allocator.fail_after(passes);
        builder.enqueue(allocator);
        const BuildState state = builder.memory().state();
        if (static_cast<Status>(state.status.value) != Status::pool_exhausted) break;
        const bool is_over = state.references > builder.memory().problem().most_references;
        const bool may_be_over = state.references > 3 * scene.triangles.size();
        ++(is_over ? over : may_be_over ? unknown : within);
        EXPECT_EQ(builder.settle(state, allocator, result), !may_be_over) << "refused: " << passes;
        EXPECT_EQ(result.status, may_be_over ? Status::over_budget : Status::pool_exhausted);
    }
    EXPECT_GT(over, 0U);
    EXPECT_GT(unknown, 0U);
    EXPECT_GT(within, 0U);
}

TEST(FailedBuilds, TellThatTheyAreOverTheirBudgetInPoolsThatDeeperTreesFill) {
    const auto scene = fan(400);
    const BuildConfig config = three_references_a_triangle();
    const CpuMachine machine(1);
    BuildResult free;
    SingleBuilder roomy(machine, scene, config, {.pool_bytes = kPoolBytes<Threads<1>>}, free);
    auto ample = roomy.make_allocator<allocators::AtomicMalloc>(free);
    roomy.load(scene, free);
    ASSERT_TRUE(roomy.build(ample, free)) << free.message;
    ASSERT_TRUE(free.depth_limit.has_value()) << "the scene is no test";
    const auto expected = digest(roomy.memory().tree());
    unsigned found = 0;
    unsigned refused = 0;
    for (std::uint64_t bytes = free.root_bytes; bytes < 200 * free.root_bytes; bytes += bytes / 8) {
        BuildResult result;
        SingleBuilder builder(machine, scene, config, {.pool_bytes = bytes}, result);
        auto allocator = builder.make_allocator<allocators::AtomicMalloc>(result);
        builder.load(scene, result);
        builder.enqueue(allocator);
        const BuildState first = builder.memory().state();
        const bool unknown = static_cast<Status>(first.status.value) == Status::pool_exhausted &&
                             first.references > 3 * scene.triangles.size() &&
                             first.references <= builder.memory().problem().most_references;
        builder.load(scene, result);
        if (builder.build(allocator, result)) {
            found += unknown ? 1 : 0;
            EXPECT_EQ(digest(builder.memory().tree()), expected) << bytes;
            EXPECT_EQ(result.message, "");
            EXPECT_EQ(result.depth_limit, free.depth_limit);
        } else {
            ++refused;
            EXPECT_EQ(result.status, Status::pool_exhausted) << bytes;
            EXPECT_NE(result.message, "") << bytes;
        }
    }
    EXPECT_GT(found, 0U) << "no pool is between that of the tree and that of deeper trees";
    EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
