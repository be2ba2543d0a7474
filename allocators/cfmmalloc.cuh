/// @file
/// CFMMalloc: CMMalloc with state and successor fused into one word, as in CFMalloc.
///
/// Header: 4 bytes, and 4 for the predecessor; for every granule of 16 bytes, 50 % of the pool.
/// circular/core.cuh has the algorithm and why it is sound.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CFMMalloc.
struct CFMMallocPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
    static constexpr bool kDirect = true;

    static constexpr Traits traits() {
        return {.name = "cfmmalloc",
                .title = "CFMMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Headers::Cell) + sizeof(std::uint32_t),
                .smallest_pool = 4096,
                .published_registers = {16, 21}};
    }
};

using CFMMalloc = circular::CircularMalloc<CFMMallocPolicy>;

static_assert(Allocator<CFMMalloc>);

}  // namespace heapwood::allocators
