/// @file
/// The words of Halloc: heads, from which requests draw tickets, and states of slabs.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::halloc {

/// {slab, counter}. The counter is below the class's capacity (a ticket of a slab that was empty),
/// or kSearched + that (of one that was not), or above either.
using HeadWord = std::uint64_t;

inline constexpr std::uint32_t kSearched = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
/// No slab, and no ticket either.
inline constexpr HeadWord kNoSlab = HeadWord{kNowhere} << 32 | 3U << 30;

HEAPWOOD_INLINE HeadWord make_head(std::uint32_t slab, std::uint32_t counter) {
    return HeadWord{slab} << 32 | counter;
}
HEAPWOOD_INLINE std::uint32_t slab_of(HeadWord w) {
    return static_cast<std::uint32_t>(w >> 32);
}
/// Tickets of a head that nobody has drawn.
HEAPWOOD_INLINE std::uint32_t tickets_left(HeadWord w, std::uint32_t capacity) {
    const std::uint32_t drawn = static_cast<std::uint32_t>(w) & ~kSearched;
    return drawn < capacity ? capacity - drawn : 0;
}

/// A head, alone in its sector of the L2 cache.
struct alignas(32) Head {
    HeadWord word;
    std::uint32_t locked;  ///< 1 while somebody replaces its slab
};

/// A slab's state: kSlab, kOpen, class << kClassShift, and the count; 0: there is no slab.
inline constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kSlab = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kClassShift = 24;
inline constexpr std::uint32_t kCount = (std::uint32_t{1} << kClassShift) - 1;

/// Words of the bitmap of a slab of so many bytes: a bit for each of the smallest pieces.
HEAPWOOD_INLINE std::uint32_t bitmap_words(std::uint32_t slab_shift) {
    return 1U << (slab_shift - 9);
}

}  // namespace heapwood::allocators::halloc
