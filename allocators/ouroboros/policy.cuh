/// @file
/// What a Policy tells the Ouroboros allocators: constants, published or ours, and what queues
/// hold.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// The constants that all Policies share. A Policy adds kQueuesChunks (below), `traits()`, and
/// `Queue<Policy>`: StandardQueue or VirtualQueue with a Map.
struct DefaultPolicy {
    /// Most entries of the standard queues of a class together: published, for pages. (Published
    /// for chunks: 65 536.) A page that finds no room goes back to its chunk.
    static constexpr std::uint32_t kMostEntries = 8U << 20;
    /// Most parts of the virtual queues of a class together, in arrays: published.
    static constexpr std::uint32_t kMostParts = 16384;
    /// Whether callers' caches keep pages.
    static constexpr bool kCaches = true;
    /// Number of shards whose queues of pages a request looks into before it opens a chunk.
    static constexpr std::uint32_t kNeighbours = 8;
    /// A chunk of at most this many pages is opened for one request; its other pages are free at
    /// once.
    static constexpr std::uint32_t kFewPages = 4;
    /// How often a request waits for the thread that opens a chunk, or makes room in a queue.
    static constexpr unsigned kPatience = 256;
    /// Called between any two steps that other threads may come between; does something in tests
    /// only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The page variants: queues hold free pages.
struct PagesInQueues : DefaultPolicy {
    static constexpr bool kQueuesChunks = false;
};
/// The chunk variants: queues hold chunks that have free pages.
struct ChunksInQueues : DefaultPolicy {
    static constexpr bool kQueuesChunks = true;
};

}  // namespace heapwood::allocators::ouroboros
