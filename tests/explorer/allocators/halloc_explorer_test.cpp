/// @file
/// Halloc's slabs, step by step: two threads that draw, open, search, close and return slabs of
/// 1 KiB with pieces of 64 bytes, all of one class with one head.
///
/// A thread that could go on is interrupted twice at most; once where the pool is full, for then a
/// request searches long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/halloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::halloc_scenarios {

namespace {

/// Less patience, and fewer tries, than would be good for anything but a short exploration.
struct ShortPolicy : allocators::HallocPolicy {
    static constexpr std::uint32_t kPatience = 1;
    static constexpr std::uint32_t kRounds = 4;
    static constexpr std::uint32_t kTries = 1;
    static constexpr std::uint32_t kLooks = 8;
    static constexpr std::uint32_t kStretches = 1;
    static constexpr std::uint32_t kStretchesTogether = 1;
    static inline bool kRoomyFirst;  // both orders are explored
};
constexpr std::size_t kPoolBytes = 16384;
constexpr std::size_t kPieceBytes = 64;
constexpr unsigned kPieces = 16;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kPiece = 16;
constexpr std::size_t kSlab = 20;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: pieces of 64 bytes, what takes the place of a slab, or the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kPiece ? kPieceBytes : used <= kSlab ? kPieces * kPieceBytes : kPoolBytes;
}
using Halloc = Resized<allocators::BasicHalloc<ShortPolicy>, bytes>;

using P = Pool<Halloc>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    bool full;                   ///< the rest of the pool is in use from beginning to end
    unsigned taken;              ///< pieces that are allocated at first
    std::vector<unsigned> left;  ///< of these, the ones that are not freed again
    bool opened;                 ///< then one more is allocated, which opens a slab anew
    std::vector<std::function<void(P&, B)>> threads;
};

/// The numbers from `first` to `last`, after those of `others`.
std::vector<unsigned> and_all(std::vector<unsigned> others, unsigned first, unsigned last) {
    for (; first <= last; ++first) others.push_back(first);
    return others;
}

std::vector<Scenario> scenarios() {
    return {
        {"both draw from the head",
         false,
         1,
         {0},
         false,
         {[](P& p, B) { p.free(p.must_allocate(kPiece)); },
          [](P& p, B) { p.must_allocate(kPiece); }}},
        {"both open the first slab",
         false,
         0,
         {},
         false,
         {[](P& p, B) { p.must_allocate(kPiece); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"the last piece of a used-up head is freed as it is replaced",
         false,
         kPieces,
         {0},
         false,
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"the last piece of a closed slab is freed as it is opened",
         false,
         2 * kPieces,
         and_all({0}, 16, 25),
         false,
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"both search the same slab, in which a piece is freed",
         false,
         kPieces,
         and_all({}, 0, 5),
         false,
         {[](P& p, B b) {
              p.must_allocate(kPiece);
              p.free(b[0]);
          },
          [](P& p, B) { p.must_allocate(kPiece); }}},
        {"an idle head is closed as it is drawn from",
         false,
         1,
         {},
         false,
         {[](P& p, B) { p.free(p.allocate(kWhole)); },
          [](P& p, B) { p.free(p.allocate(kPiece)); }}},
        {"a piece changes hands",
         false,
         1,
         {0},
         false,
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kPiece));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kPiece);
          }}},
        {"the only free piece is the one that is freed",
         true,
         kPieces,
         and_all({}, 0, 15),
         false,
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.allocate(kPiece); }}},
        {"a slab becomes empty and is divided again",
         true,
         2 * kPieces,
         and_all({1}, 16, 31),
         false,
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kPiece);
          },
          [](P& p, B) { p.allocate(kPiece); }}},
        {"either frees the last piece and wants the slab's memory",
         true,
         2 * kPieces,
         and_all({0, 1}, 16, 31),
         false,
         {[](P& p, B b) { p.free(b[0]); },
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kSlab));
          }}},
        {"a head is closed with tickets left and searched",
         true,
         3,
         {0, 1},
         false,
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
              p.free(p.allocate(kSlab));
          },
          [](P& p, B) { p.allocate(kPiece); }}},
        // The one more has ticket 12 of 16 and is piece 12 * 11 % 16; those that follow try 15, 10.
        {"a piece is had as soon as it is freed",
         false,
         kPieces,
         and_all({15}, 5, 12),
         true,
         {[](P& p, B b) { p.free(b[8]); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"both find the same piece",
         false,
         kPieces,
         and_all({15}, 5, 12),
         true,
         {[](P& p, B) { p.must_allocate(kPiece); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"a slab goes from one to the next to the next",
         true,
         2 * kPieces,
         and_all({1}, 16, 31),
         false,
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.allocate(kPiece); },
          [](P& p, B) { p.allocate(kPiece); }}},
    };
}

Result run(const Scenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // a region is a slab, with whatever pieces
    P pool({.bytes = kPoolBytes}, expectations);
    // A slab at the start of a stretch would merge with nothing, and could be returned twice.
    if (s.full) pool.prepare(kSlab);
    std::vector<void*> taken;
    for (unsigned i = 0; i < s.taken; ++i) taken.push_back(pool.prepare(kPiece));
    std::vector<void*> pieces;
    for (unsigned i = 0; i < s.taken; ++i) {
        if (std::find(s.left.begin(), s.left.end(), i) != s.left.end()) {
            pieces.push_back(taken[i]);
        } else {
            pool.prepare_free(taken[i]);
        }
    }
    if (s.opened) pool.prepare(kPiece);
    try {
        while (s.full) pool.prepare(kSlab);
    } catch (const std::invalid_argument&) {
        // Now it is.
    }
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, pieces); });
    return explore(pool.program(threads), bounds, mutation);
}

TEST(HallocExplorer, IsSound) {
    for (const bool roomy_first : {false, true}) {
        ShortPolicy::kRoomyFirst = roomy_first;
        for (const Scenario& s : scenarios()) {
            expect_nothing_found(run(s, {.preemptions = s.full ? 1U : 2U, .stale_reads = 1}),
                                 std::string(roomy_first ? "roomy first: " : "") + s.name);
        }
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(HallocExplorer, FindsFaults) {
    ShortPolicy::kRoomyFirst = true;
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0}),
                   {"heads.cuh", "slabs.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        return first_broken(scenarios(), [&](const Scenario& s) {
            const unsigned preemptions = m.fault == Fault::torn && !s.full ? 2 : 1;
            return run(s, {.preemptions = preemptions, .stale_reads = 1}, m);
        });
    });
    // Drawing, in two places; taking a piece; renewing, opening and returning a slab.
    EXPECT_EQ(found[Fault::no_acquire], 6U);
    // Freeing: the bit and the count; publishing a head. What closing a slab or taking it off its
    // head passes on, these have passed on already.
    EXPECT_EQ(found[Fault::no_release], 3U);
    // All but the lock, which is a hint; the third of the places of drawing; and setting bits: if
    // one is lost, the piece is not found again before its slab is empty.
    EXPECT_EQ(found[Fault::torn], 11U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::halloc_scenarios
