/// @file
/// Replays by threads that free each other's blocks.
#include "allocators/measure/workload.cuh"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "allocators/measure/trace.h"
#include "tests/allocators/measure/random_trace.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::Context;
using allocators::Counts;
using allocators::ReplayScript;
using allocators::ReplayStep;
using allocators::Stamps;
using allocators::Trace;
using allocators::TraceEvent;
using allocators::TraceFacts;
using allocators::Work;
using allocators::Workload;

/// malloc, which refuses some sizes, and counts what it has given.
struct Malloc {
    std::atomic<int>* live;
    std::uint32_t refused_bytes = 0;

    void* allocate(const Context&, std::size_t bytes) const {
        if (bytes == refused_bytes) return nullptr;
        ++*live;
        return std::malloc(bytes);
    }
    void deallocate(const Context&, void* p, std::size_t) const {
        --*live;
        std::free(p);
    }
};

/// The launch of a script.
Workload launch_of(const ReplayScript& script, std::vector<void*>& slots, Counts& counts) {
    Workload w{};
    w.work = Work::replay;
    w.stamps = Stamps::whole;
    w.count = true;
    w.callers = script.callers;
    w.blocks = {slots.data(), slots.size(), 4, 4, 1, script.sizes.data()};
    w.counts = &counts;
    w.steps = script.steps.data();
    w.first_step = script.first.data();
    return w;
}

/// Runs its callers, each by a thread.
template <class Ref>
void run(const Workload& w, const Ref& ref) {
    std::vector<std::thread> callers;
    for (std::uint32_t c = 0; c < w.callers; ++c) {
        callers.emplace_back([&, c] { run_caller(ref, {c, c}, w, c); });
    }
    for (std::thread& t : callers) t.join();
}

/// A replay by threads, and a launch that frees what it leaves.
Counts replayed(const ReplayScript& script, const Malloc& ref, Counts& swept) {
    std::vector<void*> slots(script.sizes.size());
    Counts counts{};
    Workload w = launch_of(script, slots, counts);
    run(w, ref);
    w.work = Work::deallocate;
    w.counts = &swept;
    w.requests = 1;
    w.callers = static_cast<std::uint32_t>(slots.size());
    for (std::uint32_t c = 0; c < w.callers; ++c) run_caller(ref, {0, 0}, w, c);
    return counts;
}

/// Address space, of which only what is touched takes memory.
struct AddressSpace {
    std::vector<std::size_t>* asked;

    void* allocate(const Context&, std::size_t bytes) const {
        asked->push_back(bytes);
        return mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    void deallocate(const Context&, void* p, std::size_t bytes) const {
        asked->push_back(bytes);
        munmap(p, bytes);
    }
};

TEST(Replay, MakesRequestsOfMoreThan32Bits) {
    constexpr std::uint64_t kSize = (std::uint64_t{6} << 30) + 8;
    const ReplayScript script = allocators::script_of(
        {.callers = 1, .events = {{0, 0, kSize}, {0, 1, 16}, {0, 1, 0}, {0, 0, 0}}}, 1, true, 4);
    std::vector<void*> slots(script.sizes.size());
    std::vector<std::size_t> asked;
    Counts counts{};
    Workload w = launch_of(script, slots, counts);
    w.stamps = Stamps::ends;
    run_caller(AddressSpace{&asked}, {0, 0}, w, 0);
    EXPECT_EQ(counts, (Counts{2, 2, 0, 0}));
    EXPECT_EQ(asked, (std::vector<std::size_t>{kSize, 16, 16, kSize}));
}

TEST(Replay, MakesTheCallsOfTheTrace) {
    std::mt19937_64 dice(test_seed());
    for (const std::uint32_t callers : {1U, 2U, 6U}) {
        const Trace trace = random_trace(dice, 6, 3000);
        const TraceFacts wanted = facts(trace);
        std::atomic<int> live = 0;
        Counts swept{};
        const Counts seen =
            replayed(script_of(trace, callers, true, trace.events.size()), Malloc{&live}, swept);
        EXPECT_EQ(seen, (Counts{wanted.requests, wanted.frees, 0, 0}));
        EXPECT_EQ(swept, (Counts{0, wanted.requests - wanted.frees, 0, 0}));
        EXPECT_EQ(live, 0);
    }
}

TEST(Replay, PassesOverTheFreesOfRefusedRequests) {
    std::mt19937_64 dice(test_seed());
    const Trace trace = random_trace(dice, 6, 3000);
    std::set<std::uint32_t> refused;
    std::uint64_t frees = 0;
    for (const TraceEvent& event : trace.events) {
        if (event.bytes == 40) refused.insert(event.block);
        if (event.bytes == 0 && refused.count(event.block) == 0) ++frees;
    }
    ASSERT_FALSE(refused.empty());
    std::atomic<int> live = 0;
    Counts swept{};
    const Counts seen =
        replayed(script_of(trace, 6, true, trace.events.size()), Malloc{&live, 40}, swept);
    EXPECT_EQ(seen, (Counts{facts(trace).requests, frees, refused.size(), 0}));
    EXPECT_EQ(swept.failed + swept.corrupt, 0U);
    EXPECT_EQ(live, 0);
}

/// Notes when each caller calls, by a look at the clock of its own.
struct Watching {
    std::vector<std::uint64_t>* moments;  ///< by caller

    void* allocate(const Context& context, std::size_t bytes) const {
        moments[context.warp].push_back(platform::nanoseconds());
        return std::malloc(bytes);
    }
    void deallocate(const Context& context, void* p, std::size_t) const {
        moments[context.warp].push_back(platform::nanoseconds());
        std::free(p);
    }
};

TEST(Replay, BeginsNoCallBeforeItsTime) {
    std::mt19937_64 dice(test_seed());
    for (const double pace : {1.0, 4.0}) {
        Trace trace = random_trace(dice, 6, 200);
        std::uint64_t now = 0;
        for (std::size_t i = 0; i < trace.events.size(); ++i) {
            trace.times.push_back(now);
            now += dice() % 400'000;  // ns, to the next
        }
        for (const std::uint32_t callers : {1U, 2U, 6U}) {
            const ReplayScript script = script_of(trace, callers, true, trace.events.size(), pace);
            std::vector<void*> slots(script.sizes.size());
            Counts counts{};
            std::vector<std::uint64_t> begun(script.due.size());
            std::uint64_t start = 0;
            Workload w = launch_of(script, slots, counts);
            w.due = script.due.data();
            w.begun = begun.data();
            w.start = &start;
            std::vector<std::vector<std::uint64_t>> moments(callers);
            const std::uint64_t before = platform::nanoseconds();
            run(w, Watching{moments.data()});
            EXPECT_GE(start, before);
            std::vector<std::size_t> next(callers);
            for (std::size_t i = 0; i < trace.events.size(); ++i) {
                const std::uint32_t caller = trace.events[i].caller % callers;
                const std::uint64_t moment = moments[caller].at(next[caller]++);
                ASSERT_GE(moment, start);
                ASSERT_GE(static_cast<double>(moment - start) * pace,
                          static_cast<double>(trace.times[i]));
            }
            for (std::size_t step = 0; step < begun.size(); ++step) {
                const bool call = script.due[step] != ReplayStep::kAnyTime;
                ASSERT_TRUE(call ? begun[step] >= script.due[step] : begun[step] == 0);
            }
            for (void* block : slots) std::free(block);
        }
    }
}

TEST(Replay, BlocksThatOverlapAreNoticed) {
    // Two callers hold a block each, of 64 bytes, `step` bytes apart.
    struct Overlapping {
        char* memory;
        std::uint64_t step;

        void* allocate(const Context& context, std::size_t) const {
            return memory + step * context.warp;
        }
        void deallocate(const Context&, void*, std::size_t) const {}
    };
    const Trace trace{2, {{0, 0, 64}, {1, 1, 64}, {1, 0, 0}, {0, 1, 0}}};
    const ReplayScript script = script_of(trace, 2, true, 4);
    for (const std::uint64_t step : {0, 16, 60, 64}) {
        alignas(16) char memory[128];
        std::vector<void*> slots(2);
        Counts counts{};
        Workload w{};
        w.work = Work::replay;
        w.stamps = Stamps::whole;
        w.blocks = {slots.data(), 2, 4, 64, 1, script.sizes.data()};
        w.counts = &counts;
        // One after the other: up to each caller's own request, then the rest.
        const std::vector<std::vector<std::uint64_t>> ends{{0, 1, 3}, {0, 2, 3}};
        for (const unsigned part : {0U, 1U}) {
            for (const std::uint32_t caller : {0U, 1U}) {
                const std::uint32_t* all = script.steps.data() + script.first[caller];
                ASSERT_EQ(all[3], ReplayStep::kEnd);
                std::vector<std::uint32_t> steps(all + ends[caller][part],
                                                 all + ends[caller][part + 1]);
                steps.push_back(ReplayStep::kEnd);
                const std::vector<std::uint64_t> first(2);
                w.steps = steps.data();
                w.first_step = first.data();
                run_caller(Overlapping{memory, step}, {caller, caller}, w, caller);
            }
        }
        EXPECT_EQ(counts.corrupt != 0, step < 64) << step;
    }
}

}  // namespace
}  // namespace heapwood::tests
