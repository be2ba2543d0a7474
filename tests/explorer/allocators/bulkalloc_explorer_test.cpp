/// @file
/// BulkAlloc, step by step: two threads that open and close bins of 1 KiB, with four blocks of 256
/// bytes or those of other kinds, in chunks of two bins, and split and merge the blocks of TBuddy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/bulkalloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::bulkalloc_scenarios {

namespace {

/// Less patience, and fewer tries, than would be good for anything but a short exploration.
template <std::uint32_t kPauses>
struct ShortPolicy : allocators::BulkAllocPolicy {
    static constexpr std::uint32_t kPatience = kPauses;
    static constexpr std::uint32_t kLooks = 2;
    static constexpr std::uint32_t kRounds = 3;
    static constexpr std::uint64_t kFewestBins = 16;
    static constexpr std::uint32_t kChunksPerArena = 8;
    static constexpr std::uint32_t kSpareShift = 31;
};
constexpr std::size_t kPoolBytes = 16384;
constexpr unsigned kBlocks = 4;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kBlock = 16;
constexpr std::size_t kOther = 20;
constexpr std::size_t kBin = 24;
constexpr std::size_t kTwo = 28;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: a block of 1/4 or 1/8 of a bin, as much as a bin or two, or the whole
/// pool.
std::size_t bytes(std::size_t used) {
    return used <= kBlock   ? 256
           : used <= kOther ? 128
           : used <= kBin   ? 1024
           : used <= kTwo   ? 2048
                            : kPoolBytes;
}
template <std::uint32_t kPauses>
using PoolOf = Pool<Resized<allocators::BasicBulkAlloc<ShortPolicy<kPauses>>, bytes>>;
/// Requests that soon do without what others have promised, and such as wait for it.
using Hasty = PoolOf<1>;
using Patient = PoolOf<100>;
using B = const std::vector<void*>&;

template <class P>
struct Scenario {
    const char* name;
    bool full;         ///< the rest of the pool is in use from beginning to end
    std::size_t used;  ///< of the blocks that are allocated at first
    unsigned taken;    ///< how many
    std::vector<unsigned>
        left;  ///< of these, the ones that are not freed again; `taken`: another bin
    std::vector<std::function<void(P&, B)>> threads;
    unsigned again = 0;  ///< blocks that are allocated after that
};

std::vector<Scenario<Hasty>> scenarios() {
    using P = Hasty;
    const auto wants = [](P& p, B) { p.free(p.allocate(kBlock)); };
    const auto must_get = [](P& p, B) { p.must_allocate(kBlock); };
    const auto wants_bin = [](P& p, B) { p.free(p.allocate(kBin)); };
    const auto wants_two = [](P& p, B) { p.free(p.allocate(kTwo)); };
    const auto frees_first = [](P& p, B b) { p.free(b[0]); };
    return {
        {"both take from the hinted bin", false, kBlock, 1, {0}, {wants, must_get}},
        {"both open the first bin", false, kBlock, 0, {}, {must_get, must_get}},
        {"both want the last block", false, kBlock, kBlocks, {1, 2, 3}, {must_get, must_get}},
        {"a block is freed as another is searched for",
         false,
         kBlock,
         kBlocks,
         {1, 2, 3},
         {frees_first, must_get}},
        // Its bit is set already, but the unit that the other thread has got is the first one.
        {"a block is freed as one with another's unit searches",
         false,
         kBlock,
         kBlocks,
         {1, 2, 3},
         {[](P& p, B b) { p.free(b[2]); }, must_get}},
        {"a bin is opened as one with another's unit searches",
         true,
         kBlock,
         2 * kBlocks,
         {1, 2, 3, 4, 5, 6, 7, 8},
         {[](P& p, B b) {
              p.free(b[7]);
              void* others[3];
              for (void*& other : others) other = p.allocate(kOther);
              for (void* other : others) p.free(other);
              p.allocate(kBlock);
          },
          [](P& p, B) { p.allocate(kBlock); }}},
        {"an idle bin is closed as one with another's unit takes from it",
         true,
         kBlock,
         2 * kBlocks,
         {4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[4]);
              p.free(b[0]);
              p.allocate(kOther);
          },
          wants},
         1},
        {"a bin that was idle is freed, and closed by one with another's unit",
         true,
         kBlock,
         2 * kBlocks,
         {4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kOther);
          },
          [](P& p, B b) { p.free(b[4]); }},
         1},
        {"a block changes hands",
         false,
         kBlock,
         1,
         {0},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kBlock));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kBlock);
          }}},
        {"both free the last blocks of a bin",
         false,
         kBlock,
         2,
         {0, 1},
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B b) { p.free(b[1]); }}},
        {"the last block of a bin is freed as one is wanted, in a full pool",
         true,
         kBlock,
         2 * kBlocks,
         {0},
         {frees_first, wants}},
        {"an idle bin is closed as it is used", true, kBlock, 2 * kBlocks, {}, {wants_bin, wants}},
        {"an idle bin is closed by both", true, kBlock, 2 * kBlocks, {}, {wants_bin, wants_bin}},
        {"an idle bin is closed, and opened for another kind",
         true,
         kBlock,
         2 * kBlocks,
         {},
         {[](P& p, B) { p.free(p.allocate(kOther)); }, wants}},
        {"a bin that is freed is opened for another kind as it is used",
         true,
         kBlock,
         2 * kBlocks,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kOther));
          },
          wants}},
        {"an idle chunk is wanted whole", true, kBlock, 2 * kBlocks, {}, {wants_two, wants}},
        {"buddies are freed by both",
         true,
         kBin,
         2,
         {0, 1},
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B b) { p.free(b[1]); }}},
        {"a buddy is freed as the other is taken", true, kBin, 2, {0}, {frees_first, wants_bin}},
        {"buddies are merged as one of them is wanted",
         true,
         kBin,
         2,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kTwo));
          },
          wants_bin}},
        {"what two have freed both want whole",
         true,
         kBin,
         2,
         {0, 1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kTwo));
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kTwo));
          }}},
    };
}

/// What one thread has promised the other gets, if only it waits.
std::vector<Scenario<Patient>> promises() {
    using P = Patient;
    const auto must_get = [](P& p, B) { p.must_allocate(kBlock); };
    const auto must_get_bin = [](P& p, B) { p.must_allocate(kBin); };
    return {
        {"both split the last block of TBuddy", true, kTwo, 1, {}, {must_get_bin, must_get_bin}},
        {"both want blocks of the last bin", true, kBin, 1, {}, {must_get, must_get}},
        {"both want bins of the last chunk",
         true,
         kTwo,
         1,
         {},
         {must_get, [](P& p, B) { p.must_allocate(kOther); }}},
        {"one closes the last bin, the other wants blocks of another kind",
         true,
         kBlock,
         2 * kBlocks,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kOther);
          },
          [](P& p, B) { p.allocate(kOther); }}},
        {"one of the buddies is free, the other one is freed as one is wanted",
         true,
         kBin,
         2,
         {1},
         {[](P& p, B b) { p.free(b[0]); }, must_get_bin}},
        {"one merges the last buddies, the other wants one of them",
         true,
         kBin,
         2,
         {0, 1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
              p.give(0, p.must_allocate(kBin));
          },
          [](P& p, B) {
              if (void* first = p.take(0)) {
                  p.must_allocate(kBin);
                  p.free(first);
              }
          }}},
    };
}

template <class P>
Result run(const Scenario<P>& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // threads use less than they ask for
    P pool({.bytes = kPoolBytes}, expectations);
    std::vector<void*> taken;
    for (unsigned i = 0; i < s.taken; ++i) taken.push_back(pool.prepare(s.used));
    try {
        while (s.full) taken.push_back(pool.prepare(kBin));
    } catch (const std::invalid_argument&) {
        // Now it is full.
    }
    std::vector<void*> blocks;
    for (unsigned i = 0; i < taken.size(); ++i) {
        if (std::find(s.left.begin(), s.left.end(), i) != s.left.end()) {
            blocks.push_back(taken[i]);
        } else if (i < s.taken) {
            pool.prepare_free(taken[i]);
        }
    }
    for (unsigned i = 0; i < s.again; ++i) blocks.push_back(pool.prepare(s.used));
    std::vector<typename P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds, mutation);
}

/// A thread that could go on is interrupted so often at most; less where the pool is full, for then
/// a request searches long.
template <class P>
Bounds bounds_of(const Scenario<P>& s) {
    return {.preemptions = s.full ? 2U : 3U, .stale_reads = 1, .steps = 4000};
}

template <class P>
void expect_sound(const std::vector<Scenario<P>>& scenarios) {
    for (const Scenario<P>& s : scenarios) {
        expect_nothing_found(run(s, bounds_of(s)), s.name);
    }
}

TEST(BulkAllocExplorer, IsSound) {
    expect_sound(scenarios());
}

TEST(BulkAllocExplorer, KeepsItsPromises) {
    expect_sound(promises());
}

/// A promise is made before what it promises is taken away, whatever a machine may put off.
TEST(BulkAllocExplorer, LateWritesAreHarmless) {
    const std::initializer_list<std::string_view> files{"bins.cuh", "buddies.cuh", "semaphore.cuh"};
    const Bounds bounds{.preemptions = 1, .stale_reads = 1, .steps = 4000};
    Places places;
    for (const auto& s : scenarios()) add_places(places, run(s, bounds), files);
    for (const auto& s : promises()) add_places(places, run(s, bounds), files);
    expect_late_writes_are_harmless(places, [&](const Mutation& m) {
        const auto explored = [&](const auto& s) { return run(s, bounds, m); };
        const std::string where = first_broken(promises(), explored);
        return where.empty() ? first_broken(scenarios(), explored) : where;
    });
}

/// Breaks every source line of bins and buddies in every way that applies to it, one at a time.
/// Those of the semaphores and of the tree of bits have tests of their own.
TEST(BulkAllocExplorer, FindsFaults) {
    Places places;
    for (const Scenario<Hasty>& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0}),
                   {"buddies.cuh", "bins.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        const auto explored = [&](const auto& s) { return run(s, bounds_of(s), m); };
        const std::string where = first_broken(scenarios(), explored);
        return where.empty() ? first_broken(promises(), explored) : where;
    });
    EXPECT_EQ(found[Fault::none], 0U);
    // Taking a unit, taking from a bin, and closing one.
    EXPECT_EQ(found[Fault::no_acquire], 3U);
    // Freeing a unit, by its bit and by the guard, and opening a bin.
    EXPECT_EQ(found[Fault::no_release], 3U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::bulkalloc_scenarios
