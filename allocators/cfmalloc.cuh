/// @file
/// CFMalloc.
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
                .smallest_pool = 4096};
    }
};

using CFMalloc = circular::CircularMalloc<CFMallocPolicy>;

static_assert(Allocator<CFMalloc>);

}  // namespace heapwood::allocators
