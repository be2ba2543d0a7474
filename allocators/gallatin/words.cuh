/// @file
/// The words of Gallatin's heads, from which requests draw slices.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "allocators/segments/layout.cuh"

namespace heapwood::allocators::gallatin {

/// {block + 1, slices drawn}. The count may be above the slices of a block; then none is left.
using HeadWord = std::uint64_t;

/// There is no block.
inline constexpr HeadWord kNoBlock = 0;
/// A thread is about to put a block there.
inline constexpr HeadWord kOpening = HeadWord{segments::kNone} << 32;

HEAPWOOD_INLINE HeadWord make_head(std::uint32_t block, std::uint32_t drawn) {
    return HeadWord{block + 1} << 32 | drawn;
}
HEAPWOOD_INLINE bool is_opening(HeadWord w) {
    return w >= kOpening;
}
HEAPWOOD_INLINE std::uint32_t block_of(HeadWord w) {
    return static_cast<std::uint32_t>(w >> 32) - 1;
}
/// Slices that nobody has drawn, of a block of so many; 0 where there is no block.
HEAPWOOD_INLINE std::uint32_t slices_left(HeadWord w, std::uint32_t slices) {
    const auto drawn = static_cast<std::uint32_t>(w);
    return w >> 32 == 0 || is_opening(w) || drawn >= slices ? 0 : slices - drawn;
}

/// A head, alone in its sector of the L2 cache.
struct alignas(32) Head {
    HeadWord word;
};

}  // namespace heapwood::allocators::gallatin
