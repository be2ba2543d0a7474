/// @file
/// CMalloc: the circular allocator with one hint for all.
///
/// The pool is a ring of chunks. A request takes the first free chunk that is large enough from
/// the hint on, gives back what it does not need, and moves the hint past itself; a freed block
/// merges with the free chunks that follow it. For programs whose large requests come first, such
/// as builders of trees, the pool is split beforehand (PoolConfig::largest_request).
///
/// What is sound about it, how it differs from the published one and why: circular/core.cuh. All
/// that is published of CMalloc alone is the single hint. Here it has refuges beside it, to which
/// only requests turn that have lost a chunk to another; without them thousands of warps follow
/// one another from chunk to chunk.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CMalloc.
struct CMallocPolicy {
    static constexpr Traits traits() {
        return {.name = "cmalloc",
                .title = "CMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(circular::Word),
                .smallest_pool = 4096};
    }
    /// A power of two; 1024 are enough that two of the about 8000 warps of a large GPU seldom meet.
    static constexpr std::uint32_t kRefuges = 1024;
    /// Some 40 ms on a GPU: a pool of one chunk is cut by one warp after the other, in a few
    /// microseconds each, and the last of thousands must not give up before its turn.
    static constexpr std::uint32_t kPatience = 1U << 16;

    static std::uint32_t home_hints(const PoolConfig&) { return 1; }
    HEAPWOOD_INLINE static std::uint32_t home(const Context&, std::uint32_t) { return 0; }
    HEAPWOOD_INLINE static void pause() {}
};

using CMalloc = circular::CircularMalloc<CMallocPolicy>;

static_assert(Allocator<CMalloc>);

}  // namespace heapwood::allocators
