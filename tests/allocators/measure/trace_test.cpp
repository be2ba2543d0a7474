/// @file
/// Traces: what Tracing records against what threads noted down themselves and against Counting;
/// scripts against the traces they are made from, in every kind of schedule; and replays by
/// threads that free each other's blocks.
#include "allocators/measure/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/circular.cuh"
#include "allocators/hybrid.cuh"
#include "allocators/measure/tracing.cuh"
#include "allocators/measure/workload.cuh"
#include "tests/allocators/limiting.cuh"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::CMalloc;
using allocators::Context;
using allocators::Counts;
using allocators::Hybrid;
using allocators::Observed;
using allocators::ReplayScript;
using allocators::ReplayStep;
using allocators::Stamps;
using allocators::Trace;
using allocators::trace_of;
using allocators::TraceEvent;
using allocators::TraceFacts;
using allocators::Tracing;
using allocators::Work;
using allocators::Workload;

constexpr std::uint64_t kPool = 1 << 20;

allocators::PoolConfig pool() {
    return {.place = allocators::Place::host, .bytes = kPool, .multiprocessors = 4, .callers = 4};
}

/// A trace of random calls: every block may be freed by anybody, some never are.
Trace random_trace(std::mt19937_64& dice, std::uint32_t callers, std::size_t events) {
    Trace trace;
    trace.callers = callers;
    std::vector<std::uint32_t> live;
    std::uint32_t requests = 0;
    while (trace.events.size() < events) {
        const auto caller = static_cast<std::uint32_t>(dice() % callers);
        if (live.empty() || dice() % 5 < 3) {
            const auto bytes = static_cast<std::uint32_t>(4 + 4 * (dice() % 40));
            trace.events.push_back({caller, requests, bytes});
            live.push_back(requests++);
        } else {
            std::swap(live[dice() % live.size()], live.back());
            trace.events.push_back({caller, live.back(), 0});
            live.pop_back();
        }
    }
    return trace;
}

TEST(Trace, MatchesFreesWithTheLastRequestOfTheirAddress) {
    const Trace trace = trace_of({{0x100, 16, 2, 0},
                                  {0x200, 32, 0, 0},
                                  {0x100, 16, 1, 1},
                                  {0x100, 48, 0, 0},
                                  {0x200, 32, 0, 1},
                                  {0x100, 48, 3, 1}});
    EXPECT_EQ(trace.callers, 4U);
    EXPECT_EQ(trace.events,
              (std::vector<TraceEvent>{
                  {2, 0, 16}, {0, 1, 32}, {1, 0, 0}, {0, 2, 48}, {0, 1, 0}, {3, 2, 0}}));
}

TEST(Trace, RefusesRecordsThatContradictEachOther) {
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x100, 16, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 1}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x100, 32, 0, 1}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x100, 16, 0, 1}, {0x100, 16, 0, 1}}),
                 std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 18, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, std::uint64_t{1} << 32, 0, 0}}), std::runtime_error);
}

TEST(Trace, FactsAreThoseOfItsBeginnings) {
    std::mt19937_64 dice(test_seed());
    for (int i = 0; i < 20; ++i) {
        const Trace trace = random_trace(dice, 3, 200);
        const TraceFacts found = facts(trace);
        std::map<std::uint32_t, std::uint32_t> live;
        TraceFacts wanted;
        for (std::size_t e = 0; e < trace.events.size(); ++e) {
            const TraceEvent& event = trace.events[e];
            if (event.bytes == 0) {
                ++wanted.frees;
                EXPECT_EQ(live.erase(event.block), 1U);
            } else {
                ++wanted.requests;
                wanted.bytes += event.bytes;
                wanted.largest = std::max(wanted.largest, event.bytes);
                live[event.block] = event.bytes;
            }
            std::uint64_t sum = 0;
            for (const auto& [block, bytes] : live) sum += bytes;
            if (sum > wanted.peak_bytes) {
                wanted.peak_bytes = sum;
                wanted.peak_events = e + 1;
            }
        }
        EXPECT_EQ(found.requests, wanted.requests);
        EXPECT_EQ(found.frees, wanted.frees);
        EXPECT_EQ(found.bytes, wanted.bytes);
        EXPECT_EQ(found.largest, wanted.largest);
        EXPECT_EQ(found.peak_bytes, wanted.peak_bytes);
        EXPECT_EQ(found.peak_events, wanted.peak_events);
    }
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

/// A step of a script in words.
struct Step {
    bool free;
    bool handed;
    std::uint32_t slot;
};
std::vector<Step> steps_of(const ReplayScript& script, std::uint32_t caller) {
    std::vector<Step> steps;
    for (std::uint64_t i = script.first[caller]; script.steps[i] != ReplayStep::kEnd; ++i) {
        const std::uint32_t word = script.steps[i];
        steps.push_back({(word & ReplayStep::kFree) != 0, (word & ReplayStep::kHanded) != 0,
                         word & ReplayStep::kSlot});
    }
    return steps;
}

/// Goes through a script in a random schedule, in which whoever waits for a block waits until it is
/// there. @return how many steps but waits were done until nobody could go on.
std::size_t play(const ReplayScript& script, std::mt19937_64& dice) {
    std::vector<std::vector<Step>> steps;
    for (std::uint32_t c = 0; c < script.callers; ++c) steps.push_back(steps_of(script, c));
    std::vector<std::size_t> next(script.callers);
    constexpr std::uint32_t kNobody = ~0U;
    constexpr std::uint32_t kOnItsWay = ~0U - 1;
    std::vector<std::uint32_t> owner(script.sizes.size(), kNobody);
    std::size_t done = 0;
    for (std::set<std::uint32_t> stuck; stuck.size() < script.callers;) {
        const auto c = static_cast<std::uint32_t>(dice() % script.callers);
        if (next[c] == steps[c].size()) {
            stuck.insert(c);
            continue;
        }
        const Step& step = steps[c][next[c]];
        std::uint32_t& held = owner[step.slot];
        if (step.free && step.handed) {
            if (held != kOnItsWay) {
                EXPECT_EQ(held, kNobody) << "it is handed over once, and to one caller";
                stuck.insert(c);
                continue;
            }
            held = c;
        } else {
            EXPECT_EQ(held, step.free ? c : kNobody);
            if (!step.free) held = step.handed ? kOnItsWay : c;
            ++done;
        }
        ++next[c];
        stuck.clear();
    }
    return done;
}

TEST(ReplayScript, HasTheCallsOfEachCallerInTheirOrder) {
    std::mt19937_64 dice(test_seed());
    for (const std::uint32_t callers : {1U, 2U, 5U, 7U, 20U}) {
        const Trace trace = random_trace(dice, 7, 500);
        const ReplayScript script = script_of(trace, callers, true, trace.events.size());
        ASSERT_EQ(script.callers, callers);
        std::vector<std::vector<Step>> steps;
        for (std::uint32_t c = 0; c < callers; ++c) steps.push_back(steps_of(script, c));
        std::vector<std::size_t> next(callers);
        std::map<std::uint32_t, std::uint32_t> slots;  // by block
        for (const TraceEvent& event : trace.events) {
            const std::uint32_t c = event.caller % callers;
            // It waits for what it will free, if that was asked for before this call.
            while (next[c] < steps[c].size() && steps[c][next[c]].free &&
                   steps[c][next[c]].handed) {
                const std::uint32_t slot = steps[c][next[c]++].slot;
                EXPECT_TRUE(std::any_of(slots.begin(), slots.end(),
                                        [&](const auto& entry) { return entry.second == slot; }));
            }
            ASSERT_LT(next[c], steps[c].size());
            const Step& step = steps[c][next[c]++];
            ASSERT_EQ(step.free, event.bytes == 0);
            if (step.free) {
                EXPECT_EQ(step.slot, slots.at(event.block));
            } else {
                EXPECT_EQ(script.sizes[step.slot], event.bytes);
                EXPECT_TRUE(slots.emplace(event.block, step.slot).second);
            }
        }
        for (std::uint32_t c = 0; c < callers; ++c) EXPECT_EQ(next[c], steps[c].size());
        std::set<std::uint32_t> different;
        for (const auto& [block, slot] : slots) different.insert(slot);
        EXPECT_EQ(different.size(), script.sizes.size());
    }
}

TEST(ReplayScript, EndsInEverySchedule) {
    std::mt19937_64 dice(test_seed());
    for (int i = 0; i < 30; ++i) {
        const Trace trace = random_trace(dice, 7, 300);
        for (const std::uint32_t callers : {1U, 3U, 7U}) {
            // Every beginning of it, too.
            const std::size_t events = i == 0 ? trace.events.size() : dice() % 301;
            EXPECT_EQ(play(script_of(trace, callers, true, events), dice), events);
        }
    }
}

TEST(ReplayScript, LeavesFreesOut) {
    std::mt19937_64 dice(test_seed());
    const Trace trace = random_trace(dice, 4, 300);
    const ReplayScript script = script_of(trace, 4, false, trace.events.size());
    const std::uint64_t requests = facts(trace).requests;
    EXPECT_EQ(script.sizes.size(), requests);
    EXPECT_EQ(play(script, dice), requests);
}

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

/// A replay by threads, and a launch that frees what it leaves.
Counts replayed(const ReplayScript& script, const Malloc& ref, Counts& swept) {
    std::vector<void*> slots(script.sizes.size());
    Counts counts{};
    Workload w{};
    w.work = Work::replay;
    w.stamps = Stamps::whole;
    w.count = true;
    w.callers = script.callers;
    w.blocks = {slots.data(), slots.size(), 4, 4, 1, script.sizes.data()};
    w.counts = &counts;
    w.steps = script.steps.data();
    w.first_step = script.first.data();
    std::vector<std::thread> callers;
    for (std::uint32_t c = 0; c < script.callers; ++c) {
        callers.emplace_back([&, c] { run_caller(ref, {c, c}, w, c); });
    }
    for (std::thread& t : callers) t.join();
    w.work = Work::deallocate;
    w.counts = &swept;
    w.requests = 1;
    w.callers = static_cast<std::uint32_t>(slots.size());
    for (std::uint32_t c = 0; c < w.callers; ++c) run_caller(ref, {0, 0}, w, c);
    return counts;
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
