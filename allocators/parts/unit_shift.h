/// @file
/// How large the units are into which an allocator divides its pool.
#pragma once

#include <cstdint>

namespace heapwood::allocators {

/// Log2 of a unit's bytes: the largest number from `smallest` to `largest` with which a pool of so
/// many bytes has at least `fewest` units; or `smallest`, if the pool has fewer with each of them.
inline std::uint32_t unit_shift(std::uint64_t bytes, std::uint32_t smallest, std::uint32_t largest,
                                std::uint64_t fewest) {
    std::uint32_t shift = largest;
    while (shift > smallest && bytes >> shift < fewest) --shift;
    return shift;
}

}  // namespace heapwood::allocators
