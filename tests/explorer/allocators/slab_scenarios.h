/// @file
/// What KMA and LLVM's libc explore alike: slabs, or superblocks, of 1 KiB with four pieces, or
/// pages, of 256 bytes, or those of other classes, with a slot of the map for each class.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/explorer/allocators/pool_scenarios.h"

namespace heapwood::tests::explorer::slabs {

constexpr unsigned kPieces = 4;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kTiny = 12;
constexpr std::size_t kPiece = 16;
constexpr std::size_t kSlab = 20;
constexpr std::size_t kOther = 24;
constexpr std::size_t kHalf = 28;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: a piece of 1/64 or 1/4 of a slab, what takes the place of a slab, a piece
/// of 1/8, what takes the place of half a slab, or the whole pool.
inline std::size_t bytes(std::size_t used) {
    return used <= kTiny    ? 16
           : used <= kPiece ? 256
           : used <= kSlab  ? 1024
           : used <= kOther ? 128
           : used <= kHalf  ? 512
                            : kUnitPoolBytes;
}

template <class P>
using Scenario = PoolScenario<P, kSlab>;

template <class P, unsigned kCount>
void wants(P& p, Blocks) {
    for (unsigned i = 0; i < kCount; ++i) p.allocate(kPiece);
}

/// What both explore, and then what `own` has.
template <class P>
std::vector<Scenario<P>> scenarios(const std::vector<Scenario<P>>& own) {
    using B = Blocks;
    const auto passes = [](P& p, B) { p.free(p.allocate(kPiece)); };
    const auto must_get = [](P& p, B) { p.must_allocate(kPiece); };
    const auto frees_first = [](P& p, B b) { p.free(b[0]); };
    const auto frees_both = [](P& p, B b) {
        p.free(b[0]);
        p.free(b[1]);
    };
    std::vector<Scenario<P>> all{
        {"both enter the slot's slab",
         kRoomy,
         1,
         {0},
         {[](P& p, B) { p.free(p.must_allocate(kPiece)); }, must_get}},
        {"both open the first slab", kRoomy, 0, {}, {must_get, must_get}},
        {"both want the last piece", kRoomy, kPieces, {1, 2, 3}, {must_get, must_get}},
        {"a piece is freed as another is searched for",
         kRoomy,
         kPieces,
         {1, 2, 3},
         {frees_first, must_get}},
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
        {"the last piece of a slab is freed as one is wanted",
         kFull,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {frees_first, wants<P, 1>}},
        {"the last piece of a slab is freed, and a piece wanted, by each",
         kFull,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kPiece));
          },
          passes}},
        {"both bring a slab's count to nothing, and want its memory",
         kFull,
         2 * kPieces,
         {0, 1, 4, 5, 6, 7},
         {frees_first,
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kSlab));
          }}},
        {"an idle slab is taken off its slot as it is wanted",
         kRoomy,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); }, passes}},
        {"a slab is of another class when it is entered",
         kFull,
         1,
         {},
         {[](P& p, B) {
              p.free(p.allocate(kOther));
              p.free(p.allocate(kSlab));
          },
          wants<P, 1>}},
        {"the slab that is freed is opened by another class",
         kFull,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {frees_first, [](P& p, B) { p.allocate(kOther); }, wants<P, 1>}},
        // The third piece lies where the one that was freed was, whose bit is in another word.
        {"an entry tells what was done to the slab when its pieces were smaller",
         kFull,
         33,
         {32},
         {frees_first, wants<P, 2>, wants<P, 1>},
         kTiny,
         true},
        // The third piece lies where the second block was.
        {"an entry tells what was done to the slab when it was large blocks",
         kFull,
         2,
         {0, 1},
         {frees_both, wants<P, 2>, wants<P, 1>},
         kHalf,
         true},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

}  // namespace heapwood::tests::explorer::slabs
