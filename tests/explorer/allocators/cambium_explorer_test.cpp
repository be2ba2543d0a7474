/// @file
/// Cambium's blocks, step by step: two threads that cut, open, close and return the blocks of
/// the smallest pool, which they share, or keep in a cache that they share, or in one of their own.
///
/// A thread that could go on is interrupted three times at most.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocators/cambium.cuh"
#include "tests/explorer/allocators/open_block_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::cambium_scenarios {

namespace {

using namespace open_blocks;
/// All requests wait for others, so that none is refused in vain.
struct PatientPolicy : allocators::CambiumPolicy {
    static constexpr bool kWaitsForRuns = true;
    static constexpr std::uint32_t kFewRounds = kRounds;
};
using Cambium = allocators::BasicCambium<PatientPolicy>;
using Scenario = open_blocks::Scenario<Cambium>;
using P = Pool<WithCaches<Cambium>>;
using B = Pieces;

std::vector<Scenario> all_scenarios() {
    std::vector<Scenario> all = open_blocks::scenarios<Cambium>();
    const std::vector<Scenario> own{
        {"a run of blocks and its tail",
         3,
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kBlock + kHalf));
          },
          [](P& p, B) {
              p.allocate(kBlock + kQuarter);
              p.allocate(kQuarter);
          }}},
        {"two runs want the same blocks",
         3,
         {},
         {[](P& p, B) { p.free(p.allocate(2 * kBlock)); },
          [](P& p, B) { p.free(p.allocate(2 * kBlock)); }}},
        {"a run loses one of its blocks",
         3,
         {},
         {[](P& p, B) { p.free(p.must_allocate(kBlock)); },
          [](P& p, B) { p.free(p.must_allocate(2 * kBlock)); }}},
        {"one wants more than what is left untouched",
         1,
         {},
         {[](P& p, B) { p.allocate(2 * kBlock); }, [](P& p, B) { p.must_allocate(kBlock); }},
         true},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

/// Where the threads have their open blocks, and where blocks are free.
struct Setting {
    bool cached;     ///< in caches, or in a table
    bool untouched;  ///< the free blocks are untouched, or in the map
};
constexpr Setting kSettings[] = {{false, false}, {false, true}, {true, false}, {true, true}};

Result run(const Scenario& s, Setting setting, const Bounds& bounds,
           const Mutation& mutation = {}) {
    // Of the untouched blocks a request for more than there are puts all in the map.
    std::vector<unsigned> runs{17, 6, 6, 1, 1};
    if (setting.untouched) {
        runs.assign(16, 1);
        runs.insert(runs.end(), {7, 6, 1, 1});
    }
    return open_blocks::run(s, setting.cached, runs, bounds, mutation);
}

TEST(CambiumExplorer, IsSound) {
    for (const Setting setting : kSettings) {
        for (const Scenario& s : all_scenarios()) {
            expect_nothing_found(run(s, setting, {.preemptions = 3, .stale_reads = 1}),
                                 std::string(setting.cached ? "cached" : "shared") +
                                     (setting.untouched ? ", untouched: " : ": ") + s.name);
        }
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(CambiumExplorer, FindsFaults) {
    Places places;
    for (const Setting setting : kSettings) {
        for (const Scenario& s : all_scenarios()) {
            add_places(
                places, run(s, setting, {.preemptions = 1, .stale_reads = 0}),
                {"block_map.cuh", "blocks.cuh", "core.cuh", "open_block.cuh", "own_words.cuh"});
        }
    }
    auto found = break_each(places, [](const Mutation& m) {
        const unsigned preemptions = m.fault == Fault::torn ? 2 : 1;
        std::string where;
        for (const Setting setting : kSettings) {
            if (!where.empty()) break;
            where = first_broken(all_scenarios(), [&](const Scenario& s) {
                return run(s, setting, {.preemptions = preemptions, .stale_reads = 1}, m);
            });
        }
        return where;
    });
    // Clearing bits of the map; taking a spare block, or a piece, also in place of opening a block;
    // the last free. The order of the other places is that of the operations that they are made of.
    EXPECT_EQ(found[Fault::no_acquire], 5U);
    // Freeing units; setting bits of the map, but those of a run that was lost; opening a block;
    // putting one aside.
    EXPECT_EQ(found[Fault::no_release], 4U);
    // All but that of a flush, during which nobody else uses the cache, and of putting aside.
    EXPECT_EQ(found[Fault::torn], 9U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::cambium_scenarios
