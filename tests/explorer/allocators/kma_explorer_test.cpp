/// @file
/// KMA's superblocks, step by step: threads that reserve pages, search, leave, list, map, close and
/// open superblocks of 1 KiB with four pages of 256 bytes, or those of other classes, with a slot
/// for each class. kma_queue_explorer_test.cpp has the queue, bit_tree_explorer_test.cpp the trees.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/kma.cuh"
#include "tests/explorer/allocators/pool_scenarios.h"
#include "tests/explorer/allocators/slab_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::kma_scenarios {

namespace {

/// Less patience, and fewer tries, than would be good for anything but a short exploration.
template <std::uint32_t kRoundsHere>
struct ShortPolicy : allocators::KmaPolicy {
    static constexpr std::uint32_t kPatience = 1;
    static constexpr std::uint32_t kRounds = kRoundsHere;
    static constexpr std::uint32_t kTries = 2;
    static constexpr std::uint32_t kPasses = 2;
    static constexpr std::uint32_t kStretches = 1;
    static constexpr std::uint32_t kStretchesTogether = 1;
};
using slabs::kOther;
using slabs::kPiece;
using slabs::kPieces;
using slabs::kSlab;
constexpr unsigned kSteps = 4000;

template <std::uint32_t kRounds>
using P = Pool<Resized<allocators::BasicKma<ShortPolicy<kRounds>>, slabs::bytes>>;
/// A request that gives up soon, and one that searches again as long as others hide memory.
using Hasty = P<3>;
using Patient = P<40>;
using B = Blocks;

std::vector<slabs::Scenario<Hasty>> scenarios() {
    using P = Hasty;
    const auto passes = [](P& p, B) { p.free(p.allocate(kPiece)); };
    const auto frees_first = [](P& p, B b) { p.free(b[0]); };
    const auto frees_second = [](P& p, B b) { p.free(b[1]); };
    const auto takes_memory = [](P& p, B) { p.free(p.allocate(kSlab)); };
    return slabs::scenarios<P>({
        {"pages of a full superblock outside of the map are freed by each",
         kFull,
         2 * kPieces,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {frees_first, frees_second}},
        {"the last page of a roomy superblock is taken as another is freed",
         kFull,
         2 * kPieces,
         {0, 1, 2, 4, 5, 6, 7},
         {frees_first, slabs::wants<P, 2>}},
        {"both put a roomy superblock into the map",
         kFull,
         2 * kPieces,
         {1, 2, 4, 5, 6, 7},
         {passes, passes}},
        {"both take an idle superblock off the map", kFull, 1, {}, {takes_memory, takes_memory}},
        {"the last page of the map's superblock is freed as its memory is wanted",
         kFull,
         1,
         {0},
         {frees_first, takes_memory}},
        {"a superblock in the queue is opened as the queue is emptied",
         kFull,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kSlab));
          },
          [](P& p, B) { p.free(p.allocate(kOther)); }}},
    });
}

TEST(KmaExplorer, IsSound) {
    expect_sound(scenarios(), kSteps);
}

/// A request that finds nothing while another opens, closes, lists or maps what there is does not
/// end with that.
TEST(KmaExplorer, RefusesNobodyForWhatOthersHoldForAMoment) {
    using P = Patient;
    const auto page = [](P& p, B) { p.must_allocate(kPiece); };
    const auto other = [](P& p, B) { p.must_allocate(kOther); };
    const auto again = [](P& p, B b) {
        p.free(b[0]);
        p.must_allocate(kPiece);
    };
    const std::vector<slabs::Scenario<P>> all{
        {"both must have pages of the last superblock", kFull, 1, {}, {page, page}},
        {"both must have the last pages", kFull, 2 * kPieces, {0, 1, 2, 5, 6, 7}, {page, page}},
        {"each must have again what it has freed of a full superblock",
         kFull,
         2 * kPieces,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {again,
          [](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kPiece);
          }}},
        {"a superblock is closed, and its memory must be found",
         kFull,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kOther);
          },
          [](P& p, B) { p.allocate(kOther); }}},
        {"both must have the superblock that is idle in the map of another class",
         kFull,
         1,
         {},
         {other, other}},
    };
    expect_sound(all, kSteps);
}

/// What threads do to a superblock of which the first pages are blocks[0] to [3], and which the map
/// does not have. At rest it is listed if it has room.
struct Listing {
    const char* name;
    std::vector<unsigned> freed;  ///< of eight pages, when the threads begin
    unsigned preemptions;
    std::vector<std::function<void(Hasty&, B)>> threads;
};

std::vector<Listing> listings() {
    const auto frees_first = [](Hasty& p, B b) { p.free(b[0]); };
    const auto frees_second = [](Hasty& p, B b) { p.free(b[1]); };
    return {
        {"two free pages of a full superblock", {}, 3, {frees_first, frees_second}},
        {"one frees a page, one takes the last one", {3}, 3, {frees_first, slabs::wants<Hasty, 1>}},
        // The third thread knows the superblock from the list, or where it has been in the map.
        {"a superblock leaves the map before a page is freed",
         {2, 3},
         0,
         {slabs::wants<Hasty, 2>, slabs::wants<Hasty, 1>, frees_first}},
        {"the last page is taken by a thread that was late at the map, as others are freed",
         {7},
         1,
         {slabs::wants<Hasty, 2>,
          [](Hasty& p, B b) {
              p.free(b[4]);
              p.free(b[5]);
          },
          slabs::wants<Hasty, 1>}},
    };
}

/// Afterwards a request for each page that is not in use gets one, and one more gets none.
Result run(const Listing& l, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;
    Hasty pool({.bytes = kUnitPoolBytes}, expectations);
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 2 * kPieces; ++i) blocks.push_back(pool.prepare(kPiece));
    // Two more superblocks than there are pages of.
    for (unsigned i = 4; i < kUnitPoolBytes / 1024; ++i) pool.prepare(kSlab);
    for (const unsigned i : l.freed) pool.prepare_free(blocks[i]);
    std::vector<Hasty::Thread> threads;
    for (const auto& t : l.threads) threads.emplace_back([&](Hasty& p) { t(p, blocks); });
    Program program = pool.program(threads);
    program.finish = [&, finish = program.finish] {
        std::uint64_t used = 0;
        const auto count = [&] {
            const Aside aside;
            used = 0;
            pool.allocator().for_each_region(
                [&](const allocators::Region& r) { used += r.allocated ? r.size : 0; });
        };
        for (count(); used < kUnitPoolBytes; count()) pool.must_allocate(kPiece);
        finish();
    };
    return explore(program, {.preemptions = l.preemptions, .stale_reads = 1, .steps = 4000},
                   mutation);
}

TEST(KmaExplorer, ASuperblockWithRoomIsListed) {
    for (const Listing& l : listings()) {
        expect_nothing_found(run(l), l.name);
    }
}

/// The first scenario in which something is wrong; "": none.
std::string first_broken_by(const Mutation& mutation) {
    const std::string listing =
        first_broken(listings(), [&](const Listing& l) { return run(l, mutation); });
    if (!listing.empty()) return listing;
    return broken_by(mutation, scenarios(), kSteps);
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(KmaExplorer, FindsFaults) {
    const Places places = places_of(scenarios(), {"core.cuh", "superblocks.cuh"}, kSteps);
    auto found = break_each(places, first_broken_by);
    // Reserving, setting the bits of pages, leaving; opening, and returning to the list. Mapping
    // need not acquire.
    EXPECT_EQ(found[Fault::no_acquire], 5U);
    // Freeing a page, leaving; mapping, unlisting, and opening.
    EXPECT_EQ(found[Fault::no_release], 5U);
    // All but the end of a slot's mark, which is a hint, and opening and returning to the list:
    // those have the superblock alone.
    EXPECT_EQ(found[Fault::torn], 11U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::kma_scenarios
