/// @file
/// CMalloc.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CMalloc.
struct CMallocPolicy : circular::SingleHint {
    using Headers = circular::SeparateHeaders;

    static constexpr Traits traits() {
        return {.name = "cmalloc",
                .title = "CMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Headers::Cell),
                .smallest_pool = 4096};
    }
};

using CMalloc = circular::CircularMalloc<CMallocPolicy>;

static_assert(Allocator<CMalloc>);

}  // namespace heapwood::allocators
