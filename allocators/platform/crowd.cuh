/// @file
/// How many lanes of a warp are at the same place at the same time.
#pragma once

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// Whether more lanes than a few are here together: then it pays that they act for one another
/// (lanes.cuh), out of line. A hint; on a CPU never.
HEAPWOOD_INLINE bool is_crowded() {
#if defined(__CUDA_ARCH__)
    return popcount(__activemask()) > 3;
#else
    return false;
#endif
}

}  // namespace heapwood::platform
