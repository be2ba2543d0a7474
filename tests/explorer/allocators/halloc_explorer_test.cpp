/// @file
/// Halloc's slabs, step by step: two threads that draw, open, search, close and return slabs of
/// 1 KiB with pieces of 64 bytes, all of one class with one head.
///
/// A thread that could go on is interrupted twice at most; once where the pool is full, for then a
/// request searches long.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocators/halloc.cuh"
#include "tests/explorer/allocators/pool_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"

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
constexpr std::size_t kPieceBytes = 64;
constexpr unsigned kPieces = 16;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kPiece = 16;
constexpr std::size_t kSlab = 20;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: pieces of 64 bytes, what takes the place of a slab, or the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kPiece ? kPieceBytes : used <= kSlab ? kPieces * kPieceBytes : kUnitPoolBytes;
}
using Halloc = Resized<allocators::BasicHalloc<ShortPolicy>, bytes>;

using P = Pool<Halloc>;
using B = Blocks;
using Scenario = PoolScenario<P, kSlab>;

/// The numbers from `first` to `last`, after those of `others`.
std::vector<unsigned> and_all(std::vector<unsigned> others, unsigned first, unsigned last) {
    for (; first <= last; ++first) others.push_back(first);
    return others;
}

std::vector<Scenario> scenarios() {
    return {
        {"both draw from the head",
         kRoomy,
         1,
         {0},
         {[](P& p, B) { p.free(p.must_allocate(kPiece)); },
          [](P& p, B) { p.must_allocate(kPiece); }}},
        {"both open the first slab",
         kRoomy,
         0,
         {},
         {[](P& p, B) { p.must_allocate(kPiece); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"the last piece of a used-up head is freed as it is replaced",
         kRoomy,
         kPieces,
         {0},
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"the last piece of a closed slab is freed as it is opened",
         kRoomy,
         2 * kPieces,
         and_all({0}, 16, 25),
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.must_allocate(kPiece); }}},
        {"both search the same slab, in which a piece is freed",
         kRoomy,
         kPieces,
         and_all({}, 0, 5),
         {[](P& p, B b) {
              p.must_allocate(kPiece);
              p.free(b[0]);
          },
          [](P& p, B) { p.must_allocate(kPiece); }}},
        {"an idle head is closed as it is drawn from",
         kRoomy,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); },
          [](P& p, B) { p.free(p.allocate(kPiece)); }}},
        {"a piece changes hands",
         kRoomy,
         1,
         {0},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kPiece));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kPiece);
          }}},
        {"the only free piece is the one that is freed",
         kFull,
         kPieces,
         and_all({}, 0, 15),
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.allocate(kPiece); }}},
        {"a slab becomes empty and is divided again",
         kFull,
         2 * kPieces,
         and_all({1}, 16, 31),
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kPiece);
          },
          [](P& p, B) { p.allocate(kPiece); }}},
        {"either frees the last piece and wants the slab's memory",
         kFull,
         2 * kPieces,
         and_all({0, 1}, 16, 31),
         {[](P& p, B b) { p.free(b[0]); },
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kSlab));
          }}},
        {"a head is closed with tickets left and searched",
         kFull,
         3,
         {0, 1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
              p.free(p.allocate(kSlab));
          },
          [](P& p, B) { p.allocate(kPiece); }}},
        // The one more has ticket 12 of 16 and is piece 12 * 11 % 16; those that follow try 15, 10.
        {"a piece is had as soon as it is freed",
         kRoomy,
         kPieces,
         and_all({15}, 5, 12),
         {[](P& p, B b) { p.free(b[8]); }, [](P& p, B) { p.must_allocate(kPiece); }},
         kPiece,
         false,
         true},
        {"both find the same piece",
         kRoomy,
         kPieces,
         and_all({15}, 5, 12),
         {[](P& p, B) { p.must_allocate(kPiece); }, [](P& p, B) { p.must_allocate(kPiece); }},
         kPiece,
         false,
         true},
        {"a slab goes from one to the next to the next",
         kFull,
         2 * kPieces,
         and_all({1}, 16, 31),
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B) { p.allocate(kPiece); },
          [](P& p, B) { p.allocate(kPiece); }}},
    };
}

TEST(HallocExplorer, IsSound) {
    for (const bool roomy_first : {false, true}) {
        ShortPolicy::kRoomyFirst = roomy_first;
        expect_sound(scenarios(), Bounds().steps, roomy_first ? "roomy first: " : "");
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(HallocExplorer, FindsFaults) {
    ShortPolicy::kRoomyFirst = true;
    const Places places = places_of(scenarios(), {"heads.cuh", "slabs.cuh"});
    auto found = break_each(
        places, [](const Mutation& m) { return broken_by(m, scenarios(), Bounds().steps, 1); });
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
