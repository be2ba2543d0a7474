/// @file
/// CDMalloc: CMalloc as a doubly linked list, whose chunks merge in both directions.
///
/// The papers' doubly linked option: a header also knows where the chunk before starts, so that a
/// freed block finds a free predecessor as well as free successors. Here that third word is only
/// believed once the predecessor has been taken and found to end where the block starts; nobody
/// keeps it up to date for others, and a stale one merely loses a merge. 12 bytes a header; for
/// every granule of 16 bytes, 75 % of the pool. circular/core.cuh has the algorithm.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/cmalloc.cuh"

namespace heapwood::allocators {

/// What makes a circular allocator CDMalloc.
struct CDMallocPolicy : CMallocPolicy {
    static constexpr bool kBackward = true;

    static constexpr Traits traits() {
        Traits t = CMallocPolicy::traits();
        t.name = "cdmalloc";
        t.title = "CMalloc, doubly linked";
        t.source = "Vinkler & Havran 2015, future work";
        t.header_bytes = sizeof(Headers::Cell) + sizeof(std::uint32_t);
        t.published_registers = {};
        return t;
    }
};

using CDMalloc = circular::CircularMalloc<CDMallocPolicy>;

static_assert(Allocator<CDMalloc>);

}  // namespace heapwood::allocators
