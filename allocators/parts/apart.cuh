/// @file
/// Lanes of a warp that ask a circular list at the same time.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {

/// The caller, as a circular list should see it. Lanes that ask it together would all begin at the
/// same hint and want the same chunk, of which one gets it: so each asks as if it were of another
/// warp, of another multiprocessor. The first lane is itself.
HEAPWOOD_INLINE Context apart(Context context) {
    const std::uint32_t lane = platform::lane_of_caller();
    context.warp += lane << 12;  // beyond the warps of a GPU
    context.multiprocessor += lane * 33;
    return context;
}

}  // namespace heapwood::allocators
