/// @file
/// CFMalloc: CMalloc with state and successor fused into one word.
///
/// A chunk is looked at with one load and taken with one compare-and-swap that checks its place,
/// size and state at once. 4 bytes a header; here for every granule of 16 bytes, 25 % of the pool.
/// All else is CMalloc's; circular/core.cuh has the algorithm and why it is sound.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CFMalloc.
struct CFMallocPolicy : circular::SingleHint {
    using Headers = circular::FusedHeaders;

    static constexpr Traits traits() {
        return {.name = "cfmalloc",
                .title = "CFMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Headers::Cell),
                .smallest_pool = 4096,
                .published_registers = {14, 16}};
    }
};

using CFMalloc = circular::CircularMalloc<CFMallocPolicy>;

static_assert(Allocator<CFMalloc>);

}  // namespace heapwood::allocators
