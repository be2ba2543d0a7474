/// @file
/// DynaSOAr, step by step: two threads that take slices, open and return blocks, list them and take
/// them off the list. Segments are of 1 KiB, of which a slice of 128 bytes is an eighth; a block of
/// eight slices of 64 bytes is a half. bit_tree_explorer_test.cpp has the trees.
///
/// A thread that could go on is interrupted twice at most; once where there are three.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocators/dynasoar.cuh"
#include "tests/explorer/allocators/pool_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::dynasoar_scenarios {

namespace {

/// Fewer tries than would be good for anything but a short exploration.
template <std::uint32_t kRoundsHere>
struct ShortPolicy : allocators::DynaSOArPolicy {
    static constexpr std::uint32_t kRounds = kRoundsHere;
    static constexpr std::uint32_t kRetries = 2;
    static constexpr std::uint32_t kTries = 2;
};
constexpr unsigned kSlices = 8;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kHalf = 12;
constexpr std::size_t kSlice = 16;
constexpr std::size_t kBlock = 20;
constexpr std::size_t kSegment = 24;
constexpr std::size_t kRun = 28;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: a slice of a block that is half a segment, or a whole one, a block of half
/// a segment, a segment, two segments, or the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kHalf      ? 64
           : used <= kSlice   ? 128
           : used <= kBlock   ? 512
           : used <= kSegment ? 1024
           : used <= kRun     ? 2048
                              : kUnitPoolBytes;
}
template <std::uint32_t kRounds>
using P = Pool<Resized<allocators::BasicDynaSOAr<ShortPolicy<kRounds>>, bytes>>;
/// A request that gives up soon, and one that searches again as long as others hide memory.
using Hasty = P<3>;
using Patient = P<40>;
using B = Blocks;
template <class Pool>
using Scenario = PoolScenario<Pool, kSegment>;

std::vector<Scenario<Hasty>> scenarios() {
    using P = Hasty;
    const auto slice = [](P& p, B) { p.free(p.allocate(kSlice)); };
    const auto keep_slice = [](P& p, B) { p.must_allocate(kSlice); };
    const auto keep = [](P& p, B) { p.allocate(kSlice); };
    const auto half = [](P& p, B) { p.free(p.allocate(kHalf)); };
    const auto free_first = [](P& p, B b) { p.free(b[0]); };
    const auto free_second = [](P& p, B b) { p.free(b[1]); };
    return {
        {"both take slices of an active block", 16, 1, {0}, {slice, keep_slice}},
        {"both open the first block", 16, 0, {}, {keep_slice, keep_slice}},
        {"both want the last slice", 16, kSlices, {0, 1, 2, 3, 4, 5, 6}, {keep_slice, keep_slice}},
        {"the last slice is taken as another is freed",
         16,
         kSlices,
         {0, 1, 2, 3, 4, 5, 6},
         {free_first, keep_slice}},
        {"slices of a full block are freed by each",
         16,
         kSlices,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {free_first, free_second}},
        {"a slice of a full block is freed, and one taken",
         1,
         kSlices,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {free_first,
          [](P& p, B) {
              p.allocate(kSlice);
              p.allocate(kSlice);
          }}},
        {"either frees the last slice of a block", 16, 2, {0, 1}, {free_first, free_second}},
        {"a block returns as a slice is taken", 1, 1, {0}, {free_first, slice}},
        {"a block returns as a slice is taken, and is opened again",
         1,
         1,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kSlice);
          },
          [](P& p, B) { p.allocate(kSlice); }}},
        {"a block returns, and is opened for another class, as a slice is taken",
         1,
         1,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kHalf));
          },
          slice}},
        {"a block returns, and is opened for another class, of which a slice would overlap",
         1,
         1,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              for (unsigned i = 0; i < 3; ++i) p.allocate(kHalf);
          },
          keep}},
        {"a block returns, and is another's whole, as a slice is taken",
         1,
         1,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kSegment));
          },
          slice}},
        {"a block is all free as another class's is opened there",
         1,
         1,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kHalf));
          },
          [](P& p, B) {
              p.free(p.allocate(kSlice));
              p.free(p.allocate(kHalf));
          }}},
        {"two blocks of a segment return", 1, 9, {0, 8}, {free_first, free_second}, kHalf},
        {"one of two blocks returns as a block is taken",
         1,
         9,
         {0, 8},
         {free_second, [](P& p, B) { p.free(p.allocate(kBlock)); }},
         kHalf},
        {"a slice changes hands",
         16,
         1,
         {0},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kSlice));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kSlice);
          }}},
        {"the last slices come back from others, and the block returns",
         1,
         2,
         {0, 1},
         {free_first,
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kSegment));
          }}},
        {"a segment is taken apart as a run is taken",
         2,
         1,
         {0},
         {free_first, [](P& p, B) { p.free(p.allocate(kRun)); }}},
        {"all is wanted as a block returns",
         16,
         1,
         {0},
         {free_first, [](P& p, B) { p.free(p.allocate(kWhole)); }}},
        {"a block goes from one class to another to the next",
         1,
         1,
         {0},
         {free_first, half, slice}},
        // Both threads that take begin at the slice of their own number.
        {"a slice of a block that returns goes to the next by the block's opener",
         1,
         3,
         {2},
         {free_first, keep, keep}},
        {"a slice goes from one to the next to the next",
         1,
         kSlices,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {free_first, slice, slice}},
    };
}

TEST(DynaSOArExplorer, IsSound) {
    expect_sound(scenarios());
}

/// A request that finds nothing while another opens, lists or moves what there is does not end with
/// that.
TEST(DynaSOArExplorer, RefusesNobodyForWhatOthersHoldForAMoment) {
    using P = Patient;
    const auto slice = [](P& p, B) { p.must_allocate(kSlice); };
    const auto slice_twice = [](P& p, B) {
        p.free(p.must_allocate(kSlice));
        p.must_allocate(kSlice);
    };
    const std::vector<Scenario<P>> all{
        {"both must have slices of the last block", 1, 0, {}, {slice, slice}},
        {"both must have the last slices", 1, kSlices, {0, 1, 2, 3, 4, 5}, {slice, slice}},
        {"the last slice is taken, and one freed before must be found",
         1,
         kSlices,
         {0, 1, 2, 3, 4, 5, 6},
         {[](P& p, B) { p.allocate(kSlice); },
          [](P& p, B b) {
              p.free(b[0]);
              p.allocate(kSlice);
          }}},
        {"a block returns as it must be found", 1, 0, {}, {slice_twice, slice_twice}},
        {"each must have again what it has freed of a full block",
         1,
         kSlices,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kSlice);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kSlice);
          }}},
    };
    expect_sound(all);
}

/// At rest a block with free slices is listed: after two threads have freed two slices of a full
/// block, or have taken the last one and freed one, a request that has not been there before gets
/// a slice of it.
Result list_block(bool full, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;
    Hasty pool({.bytes = kUnitPoolBytes, .multiprocessors = 4}, expectations);
    pool.prepare(kSegment);  // where hints are at first
    std::vector<void*> slices;
    for (unsigned i = full ? 0 : 1; i < kSlices; ++i) slices.push_back(pool.prepare(kSlice));
    Program program = pool.program({[&](Hasty& p) { p.free(slices[0]); },
                                    [&](Hasty& p) {
                                        if (full) {
                                            p.free(slices[1]);
                                        } else {
                                            p.allocate(kSlice);
                                        }
                                    }});
    program.finish = [&, finish = program.finish] {
        const auto* const next = static_cast<const char*>(pool.allocate(kSlice));
        const auto* const block = static_cast<const char*>(slices[2]) - 2 * 128;
        if (next < block || next >= block + 1024) fail("a slice is not found");
        finish();
    };
    return explore(program, bounds, mutation);
}

TEST(DynaSOArExplorer, ABlockWithFreeSlicesIsListed) {
    for (const bool full : {false, true}) {
        expect_nothing_found(list_block(full, {.preemptions = 3}), full ? "full" : "not full");
    }
}

/// The first scenario in which something is wrong; "": none.
std::string first_broken_by(const Mutation& mutation) {
    for (const bool full : {false, true}) {
        if (breaks([&] { return list_block(full, {.preemptions = 3}, mutation); })) {
            return "a block with free slices is listed";
        }
    }
    return broken_by(mutation, scenarios());
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(DynaSOArExplorer, FindsFaults) {
    const Places places = places_of(scenarios(), {"blocks.cuh", "core.cuh"});
    auto found = break_each(places, first_broken_by);
    // Taking slices; learning that a block is not listed; taking all bits of a block that returns.
    // The look of a thread that unlists a block need not acquire.
    EXPECT_EQ(found[Fault::no_acquire], 3U);
    // Freeing; opening; unlisting.
    EXPECT_EQ(found[Fault::no_release], 3U);
    // All.
    EXPECT_EQ(found[Fault::torn], 4U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::dynasoar_scenarios
