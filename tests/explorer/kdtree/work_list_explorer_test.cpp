/// @file
/// The list of the builder's first stage: every item is taken once, sees what its maker has
/// written, and all warps come to an end.
#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/platform/warp.cuh"
#include "kdtree/single/work_list.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::work_list_scenarios {

namespace {

/// A warp whose pauses let others get on.
struct Warp : platform::SerialWarp {
    static void back_off(unsigned turn) { platform::back_off(turn); }
};

constexpr std::uint32_t kWorkers = 2;
/// A root, its children and theirs.
constexpr std::uint32_t kItems = 7;

struct WorkMemory {
    kdtree::WorkCounters counters;
    std::uint64_t places[kItems + 1 + kWorkers];  ///< of items, and one of nothing
    std::uint32_t notes[kItems];                  ///< what an item's maker has written for it
    std::uint32_t ends[kItems];                   ///< how often it has been done
};
WorkMemory at_work;
using Work = kdtree::WorkList<Warp>;

std::uint64_t word_of(std::uint32_t item) {
    return item + std::uint64_t{2};
}
void note(std::uint32_t item) {
    poke(at_work.notes[item], item + 1);
}

/// Among the items that were entered together: siblings are, and the root after a place for nothing
/// if `gap`.
std::uint32_t number_of(std::uint64_t word, bool gap) {
    const auto item = static_cast<std::uint32_t>(word - 2);
    return item == 0 ? (gap ? 1 : 0) : (item + 1) % 2;
}

/// A warp's way through the work. The first one enters the root, after a place for nothing if
/// `gap`. Items 0 to 2 have two children each.
void labour(std::uint32_t warp, bool gap) {
    begin_operation("labour", warp);
    const Work work(Warp{}, at_work.places, at_work.counters, kWorkers);
    if (warp == 0) {
        note(0);
        const std::uint32_t n = gap ? 2 : 1;
        work.enter(work.take_places(n), n,
                   [&](std::uint32_t i) { return i + 1 < n ? Work::kNothing : word_of(0); });
    }
    for (;;) {
        const std::uint64_t word =
            work.take([&](std::uint64_t item) { return number_of(item, gap); });
        if (Work::is_end(word)) break;
        if (word == Work::kNothing) continue;
        const auto item = static_cast<std::uint32_t>(word - 2);
        access(&at_work.notes[item], sizeof(std::uint32_t));
        if (at_work.notes[item] != item + 1) fail("an item comes before its note");
        poke(at_work.ends[item], at_work.ends[item] + 1);
        if (item > 2) {
            work.finish();
            continue;
        }
        const std::uint32_t child = 2 * item + 1;
        note(child);
        note(child + 1);
        work.expect(1);
        work.enter(work.take_places(2), 2, [&](std::uint32_t i) { return word_of(child + i); });
    }
    end_operation(0);
}

Result run_work(bool gap, const Bounds& bounds, const Mutation& mutation = {}) {
    Program program;
    for (std::uint32_t warp = 0; warp < kWorkers; ++warp) {
        program.threads.emplace_back([=] { labour(warp, gap); });
    }
    program.begin = [] {
        for (std::uint32_t i = 0; i < kItems; ++i) at_work.notes[i] = at_work.ends[i] = 0;
    };
    program.finish = [] {
        for (const std::uint32_t ends : at_work.ends) {
            if (ends != 1) fail("an item is lost, or done twice");
        }
    };
    program.shared = [] {
        std::uint64_t hash = 0;
        for (std::uint32_t i = 0; i < kItems; ++i) {
            hash = hash * 64 + at_work.notes[i] * 8 + at_work.ends[i];
        }
        return hash;
    };
    at_work = {};
    at_work.counters.expected.value = 1;
    return explore(program, bounds, mutation);
}

TEST(WorkListExplorer, IsSound) {
    for (const bool gap : {false, true}) {
        expect_nothing_found(run_work(gap, {.preemptions = 3, .stale_reads = 1, .steps = 2000}),
                             gap ? "a gap" : "no gap");
    }
}

/// Breaks every source line of the list in every way that applies to it, one at a time.
TEST(WorkListExplorer, FindsFaults) {
    Places places;
    const Bounds few{.preemptions = 1, .stale_reads = 0, .steps = 2000};
    add_places(places, run_work(false, few), {"work_list.cuh"});
    auto found = break_each(places, [](const Mutation& m) {
        return run_work(false, {.preemptions = 2, .stale_reads = 1, .steps = 2000}, m).finding;
    });
    EXPECT_EQ(found[Fault::no_acquire], 2U);
    EXPECT_EQ(found[Fault::no_release], 2U);
    EXPECT_EQ(found[Fault::torn], 4U);
    EXPECT_EQ(found[Fault::none], 0U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::work_list_scenarios
