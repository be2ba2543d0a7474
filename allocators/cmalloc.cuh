/// @file
/// CMalloc: the circular allocator with a hint for all and headers of two words.
///
/// The pool is a ring of chunks. A request takes the first free chunk that is large enough from
/// the hint on, gives back what it does not need, and moves the hint past itself; a freed block
/// merges with the free chunks that follow it, and the hint moves to it. For programs whose large
/// requests come first, such as builders of trees, the pool is split beforehand
/// (Forms::presplit).
///
/// What is sound about it, how it differs from the published one and why: circular/core.cuh. All
/// that is published of CMalloc alone is that state and successor are words of their own (8 bytes
/// a header; here for every granule of 16 bytes, 50 % of the pool), and the single hint. Here it
/// has refuges beside it, to which only requests turn that have lost a chunk to another; without
/// them thousands of warps follow one another from chunk to chunk.
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
                .smallest_pool = 4096,
                .published_registers = {18, 18}};
    }
};

using CMalloc = circular::CircularMalloc<CMallocPolicy>;

static_assert(Allocator<CMalloc>);

}  // namespace heapwood::allocators
