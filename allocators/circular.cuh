/// @file
/// The circular allocators of Vinkler & Havran 2014/2015, on one core (circular/).
///
/// The pool is a ring of chunks. A request takes the first free chunk that is large enough from
/// the hint on, gives back what it does not need, and moves the hint past itself; a freed block
/// merges with the free chunks that follow it, and the hint moves to it. For programs whose large
/// requests come first, such as builders of trees, the pool is cut beforehand (--presplit).
/// circular/ring.cuh has the algorithm and why it is sound, circular/search.cuh how it differs from
/// the published one. What sets the five apart, as published:
///
/// | | hints | header | bytes of headers, of the pool |
/// |---|---|---|---|
/// | CMalloc | one for all | state and successor, two words | 50 % |
/// | CFMalloc | one for all | fused into one word | 25 % |
/// | CDMalloc | one for all | CMalloc's and the predecessor | 75 % |
/// | CMMalloc | of each multiprocessor | two words, and the predecessor | 75 % |
/// | CFMMalloc | of each multiprocessor | one word, and the predecessor | 50 % |
///
/// - **Fused.** A chunk is looked at with one load and taken with one compare-and-swap that checks
///   its place, size and state at once.
/// - **Doubly linked.** A header also knows where the chunk before starts, so that a freed block
///   finds a free predecessor as well as free successors. That word is only believed once the
///   predecessor has been taken and found to end where the block starts; nobody keeps it up to date
///   for others, and a stale one merely loses a merge.
/// - **One hint for all** has refuges beside it, to which only requests turn that have lost a chunk
///   to another; without them thousands of warps follow one another from chunk to chunk.
/// - **Hints of each multiprocessor.** As published, a multiprocessor has a share of the pool and
///   begins its searches there. Beyond that, because 24 warps at one hint lose two of three chunks
///   to one another on an H100: a share has up to 32 stretches for small chunks, of which a warp
///   has one to itself, and a chunk for those of medium size; the largest requests share a chunk
///   before all shares, for no share could hold the arrays of the root's children. A freed block
///   merges with its predecessor as well, but not beyond its stretch, and the next search of the
///   warp begins there. Two requests at once (allocate_pair) cost one search.
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
                .published_registers = {18, 18},
                .slow_crowds = true};
    }
};

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
                .published_registers = {14, 16},
                .slow_crowds = true};
    }
};

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

using CMalloc = circular::CircularMalloc<CMallocPolicy>;
using CFMalloc = circular::CircularMalloc<CFMallocPolicy>;
using CMMalloc = circular::CircularMalloc<CMMallocPolicy>;
using CFMMalloc = circular::CircularMalloc<CFMMallocPolicy>;
using CDMalloc = circular::CircularMalloc<CDMallocPolicy>;

static_assert(Allocator<CMalloc>);
static_assert(Allocator<CFMalloc>);
static_assert(Allocator<CMMalloc>);
static_assert(Allocator<CFMMalloc>);
static_assert(Allocator<CDMalloc>);

}  // namespace heapwood::allocators
