/// @file
/// What sets the circular allocators apart: a Policy for Core and CircularMalloc. Each allocator's
/// header derives its own from DefaultPolicy.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/header.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// The common values. A Policy adds `traits()`, `Headers`, one of the two below, and whatever it
/// wants otherwise.
struct DefaultPolicy {
    /// A chunk is split if it has at least this many times the size asked for; else it is given
    /// whole, which bounds the internal waste by one half (the papers' maximum fragmentation).
    static constexpr std::uint32_t kMaxFragmentation = 2;
    /// How many free successors a block merges with when it is freed (published: 1).
    static constexpr std::uint32_t kMergesPerFree = 64;
    /// Whether it merges with a free predecessor, too. Costs a word for every granule.
    static constexpr bool kBackward = false;
    /// How many steps a request makes, at least, before it gives up a search of which nothing but
    /// what others are doing kept the outcome open. Some 40 ms on a GPU.
    static constexpr std::uint32_t kPatience = 1U << 16;

    /// Called between any two steps that others may come between; does something in tests only,
    /// which stall there.
    HEAPWOOD_INLINE static void pause() {}
};

/// One hint for all (CMalloc, CFMalloc).
struct SingleHint : DefaultPolicy {
    static constexpr bool kShares = false;
    static constexpr bool kDirect = false;
    /// kPatience of a request that sees large enough chunks, but others are quicker: seconds on a
    /// GPU, and more steps than all that can run there at once need to take a chunk each.
    static constexpr std::uint32_t kPersistence = 1U << 24;
    /// At most how many more hints there are for requests that lost a chunk, a power of two; 1024
    /// are enough that two of the about 8000 warps of a large GPU seldom meet.
    static constexpr std::uint32_t kRefuges = 1024;
    /// A small pool has fewer: one for so many granules, for it would be smaller than its hints.
    static constexpr std::uint32_t kGranulesPerRefuge = 256;
    /// A request that wins a chunk at a refuge cuts the rest in half if that is at least so many
    /// times what it asked for.
    static constexpr std::uint32_t kCrowd = 64;
};

/// A share of the pool with hints of its own for every multiprocessor (CMMalloc, CFMMalloc).
struct HintPerMultiprocessor : DefaultPolicy {
    static constexpr bool kShares = true;
    /// Whether programs call the list itself: then it works in registers. Behind another allocator
    /// it is called seldom, and leaves that the registers.
    static constexpr bool kDirect = false;
    /// A stretch is small: without merging both ways it soon consists of crumbs. With it, free
    /// chunks next to one another are rare, so that one step forward is enough.
    static constexpr bool kBackward = true;
    static constexpr std::uint32_t kMergesPerFree = 1;
    /// At most so many stretches for small chunks has a share, a power of two (published: 1): as
    /// many as a multiprocessor has warps, so that they seldom meet.
    static constexpr std::uint32_t kStretches = 32;
    /// Over how many stretches next to one another, a power of two, freed blocks merge and searches
    /// go, each from a hint of its own.
    static constexpr std::uint32_t kStretchesTogether = 1;
    /// No share has fewer granules, nor any stretch.
    static constexpr std::uint32_t kSmallestShare = 512;
    static constexpr std::uint32_t kSmallestStretch = 8;
};

/// The same for allocators that take aligned slabs from the list. Shares and stretches are reckoned
/// in slabs.
struct SharesOfSlabs : HintPerMultiprocessor {
    using Headers = FusedHeaders;
    static constexpr std::uint32_t kSmallestShare = 8;
    static constexpr std::uint32_t kSmallestStretch = 4;
    static constexpr std::uint32_t kStretchesTogether = 4;
    /// Nothing is lost at the end of a chunk, for granules are large.
    static constexpr std::uint32_t kMaxFragmentation = 1;
};

}  // namespace heapwood::allocators::circular
