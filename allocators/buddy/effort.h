/// @file
/// How far a request of the buddy allocator looks before it turns to costlier ways.
#pragma once

#include <cstdint>

namespace heapwood::allocators::buddy {

/// Words looked at together.
inline constexpr std::uint32_t kGroup = 4;
/// Groups of words at which a request looks, beside its home, before it splits a larger unit.
inline constexpr std::uint32_t kNearby = 2;
/// Groups below which it merges, where there is nothing to split, before it searches everything.
inline constexpr std::uint32_t kMerges = 4;
/// How often a request tries anew in a word in which it has lost a race.
inline constexpr std::uint32_t kTries = 8;
/// 2^32 over the golden ratio: multiples of it, modulo 2^32, lie far apart.
inline constexpr std::uint32_t kGolden = 0x9e3779b1U;
/// From the home of one probe to that of the next: any odd number far from kGolden.
inline constexpr std::uint32_t kStep = kGolden / 3 | 1U;

}  // namespace heapwood::allocators::buddy
