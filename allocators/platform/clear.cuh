/// @file
/// Zeroes for memory that one thread alone has.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// Writes zeroes to `count` words, a multiple of four, from a multiple of 16 bytes on: four words
/// at a time. Orders nothing.
HEAPWOOD_INLINE void clear(std::uint32_t* words, std::uint32_t count) {
    struct alignas(16) Four {
        std::uint32_t words[4];
    };
    auto* const fours = reinterpret_cast<Four*>(words);
    HEAPWOOD_UNROLL(4)
    for (std::uint32_t i = 0; i < count / 4; ++i) fours[i] = {};
}

}  // namespace heapwood::platform
