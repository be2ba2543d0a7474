/// @file
/// The hash by which ScatterAlloc and FlatterScatter spread requests over pages.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// With the published factors of the size and of the multiprocessor.
HEAPWOOD_INLINE constexpr std::uint32_t scatter_hash(std::uint32_t bytes,
                                                     std::uint32_t multiprocessor) {
    return 38183 * bytes + 17497 * multiprocessor;
}

}  // namespace heapwood::allocators
