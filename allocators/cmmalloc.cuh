/// @file
/// CMMalloc: CMalloc with hints, and a share of the pool, for every multiprocessor.
///
/// As published, a multiprocessor has a share of its own and begins its searches there. Beyond
/// that, because 24 warps at one hint lose two of three chunks to one another on an H100:
/// - a share has up to 32 stretches for small chunks, of which a warp has one to itself, and a
///   chunk for those of medium size; the largest requests share a chunk before all shares, for
///   no share could hold the arrays of the root's children;
/// - a freed block merges with its predecessor as well, but not beyond its stretch, and the next
///   search of the warp begins there;
/// - two requests at once (allocate_pair) cost one search.
/// Header: 8 bytes, and 4 for the predecessor; for every granule of 16 bytes, 75 % of the pool.
/// circular/core.cuh has the algorithm and why it is sound.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CMMalloc.
struct CMMallocPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::SeparateHeaders;
    static constexpr bool kDirect = true;

    static constexpr Traits traits() {
        return {.name = "cmmalloc",
                .title = "CMMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Headers::Cell) + sizeof(std::uint32_t),
                .smallest_pool = 4096,
                .published_registers = {18, 22}};
    }
};

using CMMalloc = circular::CircularMalloc<CMMallocPolicy>;

static_assert(Allocator<CMMalloc>);

}  // namespace heapwood::allocators
