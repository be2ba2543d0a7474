/// @file
/// CMMalloc.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CMMalloc.
struct CMMallocPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::SeparateHeaders;

    static constexpr Traits traits() {
        return {.name = "cmmalloc",
                .title = "CMMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Headers::Cell),
                .smallest_pool = 4096};
    }
};

using CMMalloc = circular::CircularMalloc<CMMallocPolicy>;

static_assert(Allocator<CMMalloc>);

}  // namespace heapwood::allocators
