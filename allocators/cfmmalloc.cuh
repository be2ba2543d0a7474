/// @file
/// CFMMalloc.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CFMMalloc.
struct CFMMallocPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;

    static constexpr Traits traits() {
        return {.name = "cfmmalloc",
                .title = "CFMMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Headers::Cell),
                .smallest_pool = 4096};
    }
};

using CFMMalloc = circular::CircularMalloc<CFMMallocPolicy>;

static_assert(Allocator<CFMMalloc>);

}  // namespace heapwood::allocators
