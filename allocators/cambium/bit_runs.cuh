/// @file
/// Runs of ones in a word.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// The n lowest bits of a word, n <= 32.
HEAPWOOD_INLINE std::uint32_t low_ones(std::uint32_t n) {
    return n == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << n) - 1;
}

/// The bits of a word at which n ones begin, n > 0.
template <class Word>
HEAPWOOD_INLINE Word run_starts(Word w, std::uint32_t n) {
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t length = 1; w != 0 && length < n;) {
        const std::uint32_t more = n - length < length ? n - length : length;
        w &= w >> more;
        length += more;
    }
    return w;
}

}  // namespace heapwood::allocators::cambium
