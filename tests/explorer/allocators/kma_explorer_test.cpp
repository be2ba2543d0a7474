/// @file
/// KMA's superblocks, step by step: threads that reserve pages, search, leave, list, map, close and
/// open superblocks of 1 KiB with four pages of 256 bytes, or those of other classes, with a slot
/// for each class. kma_queue_explorer_test.cpp has the queue, bit_tree_explorer_test.cpp the trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/kma.cuh"
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
constexpr std::size_t kPoolBytes = 16384;
constexpr unsigned kPages = 4;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kTiny = 12;
constexpr std::size_t kPage = 16;
constexpr std::size_t kSuperblock = 20;
constexpr std::size_t kOther = 24;
constexpr std::size_t kHalf = 28;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: a page of 1/64 or 1/4 of a superblock, what takes the place of one, a page
/// of 1/8, what takes the place of half a superblock, or the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kTiny         ? 16
           : used <= kPage       ? 256
           : used <= kSuperblock ? 1024
           : used <= kOther      ? 128
           : used <= kHalf       ? 512
                                 : kPoolBytes;
}
template <std::uint32_t kRounds>
using P = Pool<Resized<allocators::BasicKma<ShortPolicy<kRounds>>, bytes>>;
/// A request that gives up soon, and one that searches again as long as others hide memory.
using Hasty = P<3>;
using Patient = P<40>;
using B = const std::vector<void*>&;

template <class Pool>
struct Scenario {
    const char* name;
    bool full;                   ///< the rest of the pool is in use from beginning to end
    unsigned taken;              ///< blocks that are allocated at first
    std::vector<unsigned> left;  ///< of these, the ones that are not freed again
    std::vector<std::function<void(Pool&, B)>> threads;
    std::size_t used = kPage;  ///< of these blocks
    bool in_turn = false;      ///< threads end before others begin
};

template <unsigned kCount>
void wants(Hasty& p, B) {
    for (unsigned i = 0; i < kCount; ++i) p.allocate(kPage);
}

std::vector<Scenario<Hasty>> scenarios() {
    using P = Hasty;
    const auto passes = [](P& p, B) { p.free(p.allocate(kPage)); };
    const auto must_get = [](P& p, B) { p.must_allocate(kPage); };
    const auto frees_first = [](P& p, B b) { p.free(b[0]); };
    const auto frees_second = [](P& p, B b) { p.free(b[1]); };
    return {
        {"both reserve pages of the map's superblock",
         false,
         1,
         {0},
         {[](P& p, B) { p.free(p.must_allocate(kPage)); }, must_get}},
        {"both open the first superblock", false, 0, {}, {must_get, must_get}},
        {"both want the last page", false, kPages, {1, 2, 3}, {must_get, must_get}},
        {"a page is freed as another is searched for",
         false,
         kPages,
         {1, 2, 3},
         {frees_first, must_get}},
        {"a page changes hands",
         false,
         1,
         {0},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kPage));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kPage);
          }}},
        {"pages of a full superblock outside of the map are freed by each",
         true,
         2 * kPages,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {frees_first, frees_second}},
        {"the last page of a roomy superblock is taken as another is freed",
         true,
         2 * kPages,
         {0, 1, 2, 4, 5, 6, 7},
         {frees_first, wants<2>}},
        {"both put a roomy superblock into the map",
         true,
         2 * kPages,
         {1, 2, 4, 5, 6, 7},
         {passes, passes}},
        {"the last page of a superblock is freed as one is wanted",
         true,
         2 * kPages,
         {0, 4, 5, 6, 7},
         {frees_first, wants<1>}},
        {"the last page of a superblock is freed, and a page wanted, by each",
         true,
         2 * kPages,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kPage));
          },
          passes}},
        {"both bring a superblock's count to nothing, and want its memory",
         true,
         2 * kPages,
         {0, 1, 4, 5, 6, 7},
         {frees_first,
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kSuperblock));
          }}},
        {"an idle superblock is taken off the map as it is wanted",
         false,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); }, passes}},
        {"both take an idle superblock off the map",
         true,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kSuperblock)); },
          [](P& p, B) { p.free(p.allocate(kSuperblock)); }}},
        {"the last page of the map's superblock is freed as its memory is wanted",
         true,
         1,
         {0},
         {frees_first, [](P& p, B) { p.free(p.allocate(kSuperblock)); }}},
        {"a superblock is of another class when it is reserved",
         true,
         1,
         {},
         {[](P& p, B) {
              p.free(p.allocate(kOther));
              p.free(p.allocate(kSuperblock));
          },
          wants<1>}},
        {"the superblock that is freed is opened by another class",
         true,
         2 * kPages,
         {0, 4, 5, 6, 7},
         {frees_first, [](P& p, B) { p.allocate(kOther); }, wants<1>}},
        {"a superblock in the queue is opened as the queue is emptied",
         true,
         2 * kPages,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kSuperblock));
          },
          [](P& p, B) { p.free(p.allocate(kOther)); }}},
        // The third page lies where the one that was freed was, whose bit is in another word.
        {"a reservation tells what was done to the superblock when its pages were smaller",
         true,
         33,
         {32},
         {frees_first, wants<2>, wants<1>},
         kTiny,
         true},
        // The third page lies where the second block was.
        {"a reservation tells what was done to the superblock when it was large blocks",
         true,
         2,
         {0, 1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
          },
          wants<2>, wants<1>},
         kHalf,
         true},
    };
}

template <class Pool>
Result run(const Scenario<Pool>& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // threads use less than they ask for
    Pool pool({.bytes = kPoolBytes}, expectations);
    // A superblock at the start of a stretch would merge with nothing, and could be returned twice.
    if (s.full) pool.prepare(kSuperblock);
    std::vector<void*> taken;
    for (unsigned i = 0; i < s.taken; ++i) taken.push_back(pool.prepare(s.used));
    std::vector<void*> blocks;
    // Idle superblocks must not be taken to fill the pool.
    try {
        while (s.full) pool.prepare(kSuperblock);
    } catch (const std::invalid_argument&) {
        // Now it is.
    }
    for (unsigned i = 0; i < s.taken; ++i) {
        if (std::find(s.left.begin(), s.left.end(), i) != s.left.end()) {
            blocks.push_back(taken[i]);
        } else {
            pool.prepare_free(taken[i]);
        }
    }
    std::vector<typename Pool::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](Pool& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds, mutation);
}

/// A thread that could go on is interrupted twice at most; once where the pool is full, for then a
/// request searches long.
template <class Pool>
Bounds bounds_of(const Scenario<Pool>& s) {
    const unsigned preemptions = s.in_turn ? 0 : s.full ? 1 : 2;
    return {.preemptions = preemptions, .stale_reads = 1, .steps = 4000};
}

template <class Pool>
void expect_sound(const std::vector<Scenario<Pool>>& scenarios) {
    for (const Scenario<Pool>& s : scenarios) {
        expect_nothing_found(run(s, bounds_of(s)), s.name);
    }
}

TEST(KmaExplorer, IsSound) {
    expect_sound(scenarios());
}

/// A request that finds nothing while another opens, closes, lists or maps what there is does not
/// end with that.
TEST(KmaExplorer, RefusesNobodyForWhatOthersHoldForAMoment) {
    using P = Patient;
    const auto page = [](P& p, B) { p.must_allocate(kPage); };
    const auto other = [](P& p, B) { p.must_allocate(kOther); };
    const auto again = [](P& p, B b) {
        p.free(b[0]);
        p.must_allocate(kPage);
    };
    expect_sound<P>({
        {"both must have pages of the last superblock", true, 1, {}, {page, page}},
        {"both must have the last pages", true, 2 * kPages, {0, 1, 2, 5, 6, 7}, {page, page}},
        {"each must have again what it has freed of a full superblock",
         true,
         2 * kPages,
         {0, 1, 2, 3, 4, 5, 6, 7},
         {again,
          [](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kPage);
          }}},
        {"a superblock is closed, and its memory must be found",
         true,
         2 * kPages,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kOther);
          },
          [](P& p, B) { p.allocate(kOther); }}},
        {"both must have the superblock that is idle in the map of another class",
         true,
         1,
         {},
         {other, other}},
    });
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
        {"one frees a page, one takes the last one", {3}, 3, {frees_first, wants<1>}},
        // The third thread knows the superblock from the list, or where it has been in the map.
        {"a superblock leaves the map before a page is freed",
         {2, 3},
         0,
         {wants<2>, wants<1>, frees_first}},
        {"the last page is taken by a thread that was late at the map, as others are freed",
         {7},
         1,
         {wants<2>,
          [](Hasty& p, B b) {
              p.free(b[4]);
              p.free(b[5]);
          },
          wants<1>}},
    };
}

/// Afterwards a request for each page that is not in use gets one, and one more gets none.
Result run(const Listing& l, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;
    Hasty pool({.bytes = kPoolBytes}, expectations);
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 2 * kPages; ++i) blocks.push_back(pool.prepare(kPage));
    // Two more superblocks than there are pages of.
    for (unsigned i = 4; i < kPoolBytes / 1024; ++i) pool.prepare(kSuperblock);
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
        for (count(); used < kPoolBytes; count()) pool.must_allocate(kPage);
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
std::string broken_by(const Mutation& mutation) {
    const std::string listing =
        first_broken(listings(), [&](const Listing& l) { return run(l, mutation); });
    if (!listing.empty()) return listing;
    return first_broken(scenarios(),
                        [&](const Scenario<Hasty>& s) { return run(s, bounds_of(s), mutation); });
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(KmaExplorer, FindsFaults) {
    Places places;
    for (const Scenario<Hasty>& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0, .steps = 4000}),
                   {"core.cuh", "superblocks.cuh"});
    }
    auto found = break_each(places, broken_by);
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
