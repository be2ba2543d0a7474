/// @file
/// Hybrid's open blocks, step by step: two threads that cut, open, close and return the blocks of
/// the smallest pool, which they share, or keep in a cache that they share.
///
/// A thread that could go on is interrupted three times at most.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocators/hybrid.cuh"
#include "tests/explorer/allocators/open_block_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::hybrid_scenarios {

namespace {

using allocators::Hybrid;
using Scenario = open_blocks::Scenario<Hybrid>;

std::vector<Scenario> scenarios() {
    return open_blocks::scenarios<Hybrid>();
}

Result run(const Scenario& s, bool cached, const Bounds& bounds, const Mutation& mutation = {}) {
    // The chunks into which the pool is cut from the start, so that no more is given than asked.
    return open_blocks::run(s, cached, {8, 6, 6, 6, 3, 1, 1}, bounds, mutation);
}

TEST(HybridExplorer, IsSound) {
    for (const bool cached : {false, true}) {
        for (const Scenario& s : scenarios()) {
            expect_nothing_found(run(s, cached, {.preemptions = 3, .stale_reads = 1}),
                                 std::string(cached ? "cached: " : "shared: ") + s.name);
        }
    }
}

Places places() {
    Places all;
    for (const bool cached : {false, true}) {
        for (const Scenario& s : scenarios()) {
            add_places(all, run(s, cached, {.preemptions = 1, .stale_reads = 0}), {"blocks.cuh"});
        }
    }
    return all;
}
/// The first scenario in which a mutation is found; "": in none.
std::string where_found(const Mutation& m) {
    const unsigned preemptions = m.fault == Fault::torn ? 2 : 1;
    std::string where;
    for (const bool cached : {false, true}) {
        if (!where.empty()) break;
        where = first_broken(scenarios(), [&](const Scenario& s) {
            return run(s, cached, {.preemptions = preemptions, .stale_reads = 1}, m);
        });
    }
    return where;
}

/// A request says that it is about to take a block before it does, whatever a machine may put off.
TEST(HybridExplorer, LateWritesAreHarmless) {
    expect_late_writes_are_harmless(places(), where_found);
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(HybridExplorer, FindsFaults) {
    auto found = break_each(places(), where_found);
    // Taking a piece, taking a spare block, returning a block, waiting for one to be opened.
    EXPECT_EQ(found[Fault::no_acquire], 4U);
    // Opening a block, and saying so; putting one aside; freeing a piece. The order of the other
    // places is that of the operations that they are made of; what they pass on, these four have
    // passed on already.
    EXPECT_EQ(found[Fault::no_release], 4U);
    // All but that of a flush, during which nobody else uses the cache.
    EXPECT_EQ(found[Fault::torn], 9U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::hybrid_scenarios
