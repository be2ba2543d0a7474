/// @file
/// What a build does after its pool has run out: no node without a decision is divided, by
/// whichever warp, and all arrays are freed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "scenes/generators.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {
namespace {

using Queue = TaskQueue<Task>;

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

    /// A job has one chunk, so that nobody is invited to help.
    static BuildConfig config() {
        BuildConfig c;
        c.small_arrays = false;
        c.exact_limit = 32;
        c.large_limit = 600;
        return c;
    }

    void SetUp() override { memory_.reset(); }
    void TearDown() override { EXPECT_EQ(live_, 0) << "arrays that were not freed"; }

    const Problem& problem() { return memory_.problem(); }
    BuildState& state() { return *problem().state; }
    Interrupted::Ref allocator(unsigned fails_at) { return {state(), fails_at, requests_, live_}; }
    void work(std::uint32_t warp, const Interrupted::Ref& allocator) {
        Scratch<platform::SerialWarp> scratch{};
        BuildWorker<platform::SerialWarp, Interrupted>({}, problem(), allocator,
                                                       {.multiprocessor = 0, .warp = warp}, scratch)
            .run();
    }
    Queue queue() {
        return {problem().slots, problem().slot_bits, &state().queue_head, &state().queue_tail};
    }

    const scenes::Scene scene_ = scenes::generate({"sphere", kTriangles, 1});
    allocators::ArrayPool pool_{allocators::Place::host};
    BuildMemory memory_{pool_, scene_, config(), 2};
    unsigned requests_ = 0;
    int live_ = 0;
};

TEST_F(FailedBuild, GivesNoNodeAway) {
    // The failure comes between the division of the root and the decision on its children.
    const auto failing = allocator(3);
    std::thread builder([&] { work(0, failing); });
    unsigned given = 0;
    while (state().done.ref().load_acquire() == 0) {
        if (!queue().poll(0)) continue;
        const Task task = queue().task_of(0);
        queue().release(0);
        ++given;
        EXPECT_NE(task.piece.split.axis, Split::kUndecided);
        failing.deallocate({}, task.piece.references, 0);
        if (state().outstanding.ref().sub_acq_rel(1) == 1) state().done.ref().store_release(1);
    }
    builder.join();
    EXPECT_EQ(requests_, 3U);
    EXPECT_EQ(given, 0U);
}

TEST_F(FailedBuild, FreesANodeWithoutADecision) {
    // A warp that has not heard of the failure takes such a node from the queue.
    constexpr std::uint32_t kCount = 600;
    const auto plain = allocator(~0U);
    Piece piece{};
    piece.references = static_cast<Reference*>(plain.allocate({}, kCount * sizeof(Reference)));
    std::fill_n(piece.references, kCount, Reference{});
    piece.count = kCount;
    piece.cell = piece.tight = problem().bounds;
    Reference* const arena = problem().arenas + kArenaSize;
    Reference untouched{};
    untouched.primitive = 7;
    std::fill_n(arena, kArenaSize, untouched);
    state().nodes = 1;
    state().outstanding.value = 1;
    problem().jobs[0] = {};  // the root's, of which no chunk is left
    problem().jobs[0].piece.references = piece.references;
    state().root_ready.value = 1;
    queue().give(platform::SerialWarp{}, Task{nullptr, piece}, 1, [](std::uint32_t) {});
    work(1, plain);
    EXPECT_EQ(requests_, 1U) << "arrays for children";
    EXPECT_EQ(state().nodes, 1U) << "nodes of children";
    EXPECT_TRUE(std::all_of(arena, arena + kArenaSize,
                            [](const Reference& r) { return r.primitive == 7; }));
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

}  // namespace
}  // namespace heapwood::kdtree::tests
