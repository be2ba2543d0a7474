/// @file
/// Gallatin, step by step: two threads that draw slices, open and return blocks, divide segments
/// and take them apart. Segments are of 1 KiB, of which a slice of 128 bytes is an eighth; a block,
/// of four slices, is a half. bit_tree_explorer_test.cpp has the trees.
///
/// A thread that could go on is interrupted twice at most; once where there are three.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocators/gallatin.cuh"
#include "tests/explorer/allocators/pool_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::gallatin_scenarios {

namespace {

/// Less patience, and fewer tries, than would be good for anything but a short exploration.
template <std::uint32_t kRoundsHere, std::uint32_t kPatienceHere, std::uint32_t kSlicesShift = 3>
struct ShortPolicy : allocators::GallatinPolicy {
    static constexpr std::uint32_t kFewestSlicesShift = kSlicesShift;
    static constexpr std::uint32_t kPatience = kPatienceHere;
    static constexpr std::uint32_t kRounds = kRoundsHere;
    static constexpr std::uint32_t kTries = 2;
};
constexpr unsigned kSlices = 8;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kSlice = 16;
constexpr std::size_t kQuarter = 18;
constexpr std::size_t kBlock = 20;
constexpr std::size_t kSegment = 24;
constexpr std::size_t kRun = 28;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: a slice, a block of four or two to a segment, a segment, two segments, or
/// the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kSlice     ? 64
           : used <= kQuarter ? 256
           : used <= kBlock   ? 512
           : used <= kSegment ? 1024
           : used <= kRun     ? 2048
                              : kUnitPoolBytes;
}
template <std::uint32_t kRounds, std::uint32_t kPatience>
using P = Pool<Resized<allocators::BasicGallatin<ShortPolicy<kRounds, kPatience>>, bytes>>;
/// A request that gives up soon, and one that searches again as long as others hide memory.
using Hasty = P<3, 0>;
using Patient = P<40, 1>;

/// A pool whose blocks are segments of 16 slices of 64 bytes, asked for three slices at once.
std::size_t several(std::size_t used) {
    return used <= kSlice ? 192 : bytes(used);
}
using Several = Pool<Resized<allocators::BasicGallatin<ShortPolicy<3, 0, 4>>, several>>;
using B = Blocks;
template <class Pool>
using Scenario = PoolScenario<Pool, kSegment>;

std::vector<Scenario<Hasty>> scenarios() {
    using P = Hasty;
    const auto slice = [](P& p, B) { p.free(p.allocate(kSlice)); };
    const auto keep_slice = [](P& p, B) { p.must_allocate(kSlice); };
    const auto block = [](P& p, B) { p.free(p.allocate(kBlock)); };
    const auto run = [](P& p, B) { p.free(p.allocate(kRun)); };
    const auto free_first = [](P& p, B b) { p.free(b[0]); };
    return {
        {"both draw from the head", 16, 1, {0}, {slice, keep_slice}},
        {"both open the first block", 16, 0, {}, {keep_slice, keep_slice}},
        {"a used-up head is replaced by both", 16, kSlices, {0}, {keep_slice, keep_slice}},
        {"the last slice of a block is freed as a head is opened",
         16,
         kSlices,
         {0},
         {free_first, keep_slice}},
        {"either frees the last slice of a block",
         16,
         kSlices,
         {0, 1},
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B b) { p.free(b[1]); }}},
        {"a segment is taken apart as a block is taken from it",
         16,
         kSlices,
         {0},
         {free_first, block}},
        {"the last segment is taken apart as a block is taken from it",
         1,
         kSlices,
         {0},
         {free_first, block}},
        {"a segment is taken apart as a run is taken", 2, kSlices, {0}, {free_first, run}},
        {"a segment is taken apart, and made a run, as a block is taken from it",
         1,
         kSlices,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kSegment);
          },
          [](P& p, B) { p.allocate(kBlock); }}},
        {"a segment is divided again, and entered",
         1,
         0,
         {},
         {[](P& p, B) {
              void* first = p.allocate(kQuarter);
              p.free(p.allocate(kQuarter));
              p.free(first);
              p.allocate(kQuarter);
          },
          [](P& p, B) { p.allocate(kQuarter); }}},
        {"a block is opened again, and drawn from",
         1,
         kSlices,
         {1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kSlice);
          },
          [](P& p, B) { p.allocate(kSlice); }}},
        {"both blocks of the last segment are freed, and one is taken",
         1,
         2 * kSlices,
         {0, kSlices},
         {[](P& p, B b) { p.free(b[0]); },
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kBlock));
          }}},
        {"the last segment is full as one block is freed",
         1,
         2 * kSlices,
         {0, kSlices},
         {free_first, block}},
        {"an idle block is taken off its head as it is drawn from",
         16,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); }, slice}},
        {"a block is taken off its head as its last slice is freed",
         1,
         2,
         {0},
         {free_first, [](P& p, B) { p.free(p.allocate(kSegment)); }}},
        {"a slice changes hands",
         16,
         kSlices - 1,
         {0, 1, 2},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kSlice));
              p.free(b[0]);
          },
          [](P& p, B b) {
              p.free(p.take(0));
              p.free(b[1]);
              p.free(b[2]);
              p.must_allocate(kSlice);
          }}},
        {"runs that overlap", 3, 0, {}, {run, run}},
        {"a run meets a block", 2, 0, {}, {run, block}},
        {"a block goes from one to the next to the next",
         1,
         kSlices,
         {0},
         {free_first, block, block}},
    };
}

TEST(GallatinExplorer, IsSound) {
    expect_sound(scenarios());
}

/// What a request leaves that wants more slices than a block has is given back, once.
TEST(GallatinExplorer, TheRestOfABlockIsGivenBack) {
    using P = Several;
    const auto slices = [](P& p, B) { p.must_allocate(kSlice); };
    const auto free_first = [](P& p, B b) { p.free(b[0]); };
    const std::vector<Scenario<P>> all{
        {"both want the last three of four", 16, 4, {0}, {slices, slices}},
        {"both find one of sixteen left", 16, 5, {0}, {slices, slices}},
        {"one is left as the last others are freed", 16, 5, {0}, {free_first, slices}},
        {"one is left in the last block",
         1,
         5,
         {0},
         {free_first, [](P& p, B) { p.allocate(kSlice); }}},
    };
    expect_sound(all);
}

/// A request that finds nothing while another opens, frees or moves what there is does not end with
/// that.
TEST(GallatinExplorer, RefusesNobodyForWhatOthersHoldForAMoment) {
    using P = Patient;
    const auto slice = [](P& p, B) { p.must_allocate(kSlice); };
    const auto block = [](P& p, B) { p.must_allocate(kBlock); };
    const std::vector<Scenario<P>> all{
        {"both must have slices of the last block", 1, kSlices, {0}, {slice, slice}},
        {"both must have blocks of the last segment", 1, 0, {}, {block, block}},
        {"a slice and a block of the last segment", 1, 0, {}, {slice, block}},
        {"a slice is drawn as a segment is looked for",
         1,
         1,
         {0},
         {slice, [](P& p, B) { p.free(p.allocate(kRun)); }}},
        {"both must have runs that overlap",
         4,
         0,
         {},
         {[](P& p, B) { p.must_allocate(kRun); }, [](P& p, B) { p.must_allocate(kRun); }}},
    };
    expect_sound(all);
}

/// One thread takes the last block of a segment, and takes it off the list; another one frees the
/// block beside it, and lists it. Whatever the order, the next block is of the segment in use, and
/// no further one is divided.
TEST(GallatinExplorer, ASegmentWithRoomIsListed) {
    Expectations expectations;
    expectations.exact = false;
    Hasty pool({.bytes = kUnitPoolBytes}, expectations);
    void* const freed = pool.prepare(kBlock);
    void* kept = nullptr;
    Program program = pool.program(
        {[&](Hasty& p) { kept = p.must_allocate(kBlock); }, [=](Hasty& p) { p.free(freed); }});
    program.finish = [&, finish = program.finish] {
        const auto segment = [=](const void* p) {
            return (static_cast<const char*>(p) - static_cast<const char*>(freed)) / 1024;
        };
        if (segment(pool.allocate(kBlock)) != segment(kept)) fail("a free block is not found");
        finish();
    };
    expect_nothing_found(explore(program, {.preemptions = 3, .stale_reads = 1}), "a free block");
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(GallatinExplorer, FindsFaults) {
    const Places places = places_of(scenarios(), {"slices.cuh", "segments.cuh"});
    auto found = break_each(
        places, [](const Mutation& m) { return broken_by(m, scenarios(), Bounds().steps, 1); });
    // Entering a segment, taking its bit, taking it apart; drawing, and returning a block. The
    // three others are of threads that give back what nobody has drawn: they order changes of one
    // word, the block's live slices, whose changes come in the order of time here.
    EXPECT_EQ(found[Fault::no_acquire], 5U);
    // Dividing a segment, setting a bit, leaving; opening a block, and freeing slices.
    EXPECT_EQ(found[Fault::no_release], 5U);
    // All.
    EXPECT_EQ(found[Fault::torn], 10U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::gallatin_scenarios
