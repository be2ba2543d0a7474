/// @file
/// Hints: words of the pool that name granules from which searches begin. They order nothing, and
/// may name a granule at which no chunk starts any more, or never did.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// Words between two hints, so that no two share a sector of the L2 cache.
inline constexpr std::uint32_t kHintStride = 8;

using Hint = platform::AtomicRef<std::uint32_t>;

/// The hint of that number in a table.
HEAPWOOD_INLINE Hint hint_of(std::uint32_t* table, std::uint32_t number) {
    return Hint(table[number * kHintStride]);
}

}  // namespace heapwood::allocators::circular
