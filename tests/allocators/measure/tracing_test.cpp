/// @file
/// Tracing: what it records against what threads noted down themselves and against Counting.
#include "allocators/measure/tracing.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/circular.cuh"
#include "allocators/hybrid.cuh"
#include "tests/allocators/limiting.cuh"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::CMalloc;
using allocators::Context;
using allocators::Hybrid;
using allocators::Observed;
using allocators::Trace;
using allocators::TraceEvent;
using allocators::TraceFacts;
using allocators::Tracing;

constexpr std::uint64_t kPool = 1 << 20;

allocators::PoolConfig pool() {
    return {.place = allocators::Place::host, .bytes = kPool, .multiprocessors = 4, .callers = 4};
}

/// What a thread did, in its order: bytes of a request, 0 for a free; and of which block, known by
/// a number that no other has.
struct Note {
    std::uint32_t bytes;
    std::uint64_t block;
};

/// Threads that ask, free, and put blocks where another takes them to free them.
template <class Ref>
std::vector<std::vector<Note>> churn(const Ref& ref, unsigned threads, unsigned rounds,
                                     std::uint64_t seed) {
    struct Block {
        void* data;
        std::uint32_t bytes;
        std::uint64_t number;
    };
    std::vector<std::vector<Note>> notes(threads);
    std::mutex mutex;
    std::vector<Block> shared;
    const auto work = [&](unsigned thread) {
        std::mt19937_64 dice(seed + thread);
        const Context context{.multiprocessor = thread, .warp = thread};
        std::vector<Block> own;
        std::uint64_t number = std::uint64_t{thread} << 32;
        for (unsigned i = 0; i < rounds; ++i) {
            const auto choice = dice() % 10;
            if (choice < 5 || own.empty()) {
                const auto bytes = static_cast<std::uint32_t>(4 + 4 * (dice() % 100));
                void* data = ref.allocate(context, bytes);
                if (data == nullptr) continue;
                own.push_back({data, bytes, number++});
                notes[thread].push_back({bytes, own.back().number});
                continue;
            }
            Block block = own.back();
            own.pop_back();
            if (choice < 8) {
                const std::lock_guard lock(mutex);
                shared.push_back(block);
                std::swap(shared[dice() % shared.size()], shared.back());
                block = shared.back();
                shared.pop_back();
                if (choice == 5 && dice() % 2 == 0) {  // for somebody else
                    shared.push_back(block);
                    continue;
                }
            }
            ref.deallocate(context, block.data, block.bytes);
            notes[thread].push_back({0, block.number});
        }
    };
    std::vector<std::thread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& t : others) t.join();
    return notes;
}

/// The trace has every thread's notes in their order, and every free is that of the noted block.
void expect_notes(const Trace& trace, const std::vector<std::vector<Note>>& notes) {
    std::vector<std::size_t> next(notes.size());
    std::map<std::uint64_t, std::uint32_t> numbers;  // of notes' blocks in the trace
    std::set<std::uint32_t> live;
    std::uint32_t requests = 0;
    for (const TraceEvent& event : trace.events) {
        ASSERT_LT(event.caller, notes.size());
        ASSERT_LT(next[event.caller], notes[event.caller].size());
        const Note& note = notes[event.caller][next[event.caller]++];
        ASSERT_EQ(event.bytes, note.bytes);
        if (event.bytes != 0) {
            EXPECT_EQ(event.block, requests++);
            numbers[note.block] = event.block;
            live.insert(event.block);
        } else {
            EXPECT_EQ(event.block, numbers.at(note.block));
            EXPECT_EQ(live.erase(event.block), 1U);
        }
    }
    for (std::size_t t = 0; t < notes.size(); ++t) EXPECT_EQ(next[t], notes[t].size());
}

template <class A>
void expect_trace_of_threads(unsigned threads) {
    const std::uint64_t seed = test_seed();
    Observed<A> allocator(pool());
    allocator.inner().record(100000);
    for (int i = 0; i < 2; ++i) {  // the second time with records that reset() has forgotten
        allocator.reset();
        const auto notes = churn(allocator.ref(), threads, 2000, seed);
        const Trace trace = allocator.inner().trace();
        expect_notes(trace, notes);
        const TraceFacts found = facts(trace);
        const allocators::Statistics s = allocator.statistics();
        EXPECT_EQ(found.requests, s.requests - s.failed);
        EXPECT_EQ(found.frees, s.frees);
        const double mean = static_cast<double>(found.bytes) / static_cast<double>(found.requests);
        EXPECT_NEAR(mean, s.mean_bytes, 1e-9 * mean);
        if (threads == 1) {
            EXPECT_EQ(found.peak_bytes, s.peak_live_bytes);
        }
    }
}

TEST(Tracing, RecordsWhatThreadsHaveDone) {
    for (const unsigned threads : {1U, 4U}) {
        expect_trace_of_threads<CMalloc>(threads);
        expect_trace_of_threads<Hybrid>(threads);
    }
}

TEST(Tracing, RecordsPairsAsTwo) {
    Tracing<Hybrid> allocator(pool());
    allocator.record(10);
    const auto ref = allocator.ref();
    void* blocks[2];
    ASSERT_TRUE(ref.allocate_pair({.multiprocessor = 0, .warp = 7}, {64, 128}, blocks));
    ref.deallocate({.multiprocessor = 0, .warp = 5}, blocks[1], 128);
    EXPECT_EQ(allocator.trace().events,
              (std::vector<TraceEvent>{{7, 0, 64}, {7, 1, 128}, {5, 1, 0}}));
}

TEST(Tracing, LeavesOutRefusalsAndFreesOfNothing) {
    Tracing<tests::Limiting<Hybrid>> allocator(pool());
    allocator.inner().fail_after(2);
    allocator.record(10);
    const auto ref = allocator.ref();
    const Context context{};
    void* first = ref.allocate(context, 16);
    EXPECT_NE(ref.allocate(context, 32), nullptr);
    EXPECT_EQ(ref.allocate(context, 64), nullptr);
    void* blocks[2];
    EXPECT_FALSE(ref.allocate_pair(context, {64, 64}, blocks));
    ref.deallocate(context, nullptr, 64);
    ref.deallocate(context, first, 16);
    EXPECT_EQ(allocator.trace().events,
              (std::vector<TraceEvent>{{0, 0, 16}, {0, 1, 32}, {0, 0, 0}}));
}

TEST(Tracing, SaysHowMuchRoomThereShouldHaveBeen) {
    Tracing<CMalloc> allocator(pool());
    const Context context{};
    EXPECT_NE(allocator.ref().allocate(context, 16), nullptr);  // no order to record as yet
    allocator.record(3);
    // So many that the address sanitizer sees it if they are recorded all the same.
    for (int i = 0; i < 40; ++i) EXPECT_NE(allocator.ref().allocate(context, 16), nullptr);
    EXPECT_EQ(allocator.recorded(), 40U);
    allocator.record(40);
    EXPECT_EQ(allocator.recorded(), 0U);
}

/// One block of memory, given to whoever asks; and what others do just before it is given, and
/// just after it was freed.
struct OneBlock {
    struct State {
        alignas(16) char block[64];
        std::function<void()> before_given = [] {};
        std::function<void()> after_freed = [] {};
    };
    struct Ref {
        State* state;

        void* allocate(const Context&, std::size_t) const {
            std::exchange(state->before_given, [] {})();
            return state->block;
        }
        void deallocate(const Context&, void*, std::size_t) const {
            std::exchange(state->after_freed, [] {})();
        }
        std::uint64_t granted_bytes(const void*, std::size_t) const { return 64; }
    };

    explicit OneBlock(const allocators::PoolConfig&) {}
    static constexpr allocators::Traits traits() { return CMalloc::traits(); }
    Ref ref() const { return {state.get()}; }
    void reset() {}
    std::uint64_t pool_bytes() const { return 64; }
    std::uint64_t overhead_bytes() const { return 0; }
    template <class Visitor>
    void for_each_region(Visitor&&) const {}

    std::unique_ptr<State> state = std::make_unique<State>();
};

TEST(Tracing, OrdersTheCallsOfWhoeverGetsTheSameBlockNext) {
    Tracing<OneBlock> allocator(pool());
    allocator.record(10);
    const auto ref = allocator.ref();
    OneBlock::State& state = *allocator.inner().state;
    const Context first{.multiprocessor = 0, .warp = 0};
    const Context second{.multiprocessor = 0, .warp = 1};
    void* block = ref.allocate(first, 16);
    state.after_freed = [&] { EXPECT_EQ(ref.allocate(second, 32), block); };
    ref.deallocate(first, block, 16);
    state.before_given = [&] { ref.deallocate(second, block, 32); };
    EXPECT_EQ(ref.allocate(first, 48), block);
    EXPECT_EQ(allocator.trace().events,
              (std::vector<TraceEvent>{{0, 0, 16}, {0, 0, 0}, {1, 1, 32}, {1, 1, 0}, {0, 2, 48}}));
}

}  // namespace
}  // namespace heapwood::tests
