/// @file
/// The six Ouroboros allocators (Winter, Mlakar, Parger & Steinberger 2020, "Ouroboros: virtualized
/// queues for dynamic memory management on GPUs"): queues of what is free, for each size.
///
/// **What sets each apart.** P or C says what a queue holds; S, VA or VL, where it lies.
///
/// | | holds | lies in |
/// |---|---|---|
/// | p-s | pages | a ring beside the pool |
/// | p-va | pages | chunks of the pool, which an array lists |
/// | p-vl | pages | chunks of the pool, linked to a list |
/// | c-s | chunks | a ring beside the pool |
/// | c-va | chunks | chunks of the pool, which an array lists |
/// | c-vl | chunks | chunks of the pool, linked to a list |
///
/// - *Pages*: an allocation takes a page, a free puts it back. A class that finds its queue empty
///   gives the pages of its open chunks one by one, and opens others when these are used up. Pages
///   do not return to their chunk, nor chunks to the pool, until memory runs out. Once for all
///   lanes that call together, and one after the other, an allocation takes three atomic operations
///   (semaphore, ticket, entry; in the virtual queues the part's count, and a look at the map and
///   at the entry), and a free two (ticket and entry; in the virtual queues semaphore and ticket,
///   and a look at the map), or three where a ring has not a place for all pages.
/// - *Chunks*: the queue holds chunks that have free pages. An allocation takes a page of the
///   current chunk by its bit, and the next chunk from the queue when that is used up. A chunk
///   whose first page is freed is put into the queue. A chunk whose last page is freed returns to
///   the pool, for any class. An allocation takes a load and two atomic operations one after the
///   other (current chunk, permit, bit), a free two. The largest pages are chunks here, and come
///   from the list.
/// - *Ring* (ouroboros/standard_queue.cuh): 4 bytes beside the pool for each page that the pool can
///   have, of each class, at most kMostEntries a class: half of a pool of up to 128 MiB, in all. Of
///   chunks: 4 bytes for each chunk and class.
/// - *Array* and *list* (ouroboros/virtual_queue.cuh): a queue takes a chunk of the pool for every
///   2048 entries that it holds, and gives it back once they are taken.
///
/// Published: chunks of 8 KiB, pages of 16 bytes to 8 KiB; 8 Mi entries in a ring of pages
/// (kMostEntries), 65 536 in one of chunks (here as many as there are chunks); 16 384 chunks in an
/// array (kMostParts); lists of any length. Concurrency: ouroboros/core.cuh and its parts.
///
/// **Against the original**, in all six:
/// - A pool that is full gives nullptr. The original ignores that there is no chunk left, and
///   writes beyond the heap.
/// - Chunks are blocks of a circular list that owns the whole pool (CFMMalloc's,
///   ouroboros/chunks.cuh), and larger requests are blocks of it as well. The original has a fixed
///   heap of chunks, and hands these requests to CUDA's malloc.
/// - A shard of the pool has queues of its own (ouroboros/geometry.h). A multiprocessor asks those
///   near its own share of the list first. The original has one queue for each class.
/// - A class opens several chunks at once if they have few pages each (ouroboros/geometry.h).
/// - A thread that takes from a queue waits only for a thread that is putting its entry there:
///   entries are counted when they are there, not before.
/// - The last pages that a caller frees stay in the cache that it lends (Context::cache): four of
///   each of the smallest seven classes, or fewer classes in small pools.
/// - Chunks shrink in small pools, to 512 bytes. In pools of 64 GiB and more the smallest page has
///   32 bytes.
///
/// With pages in queues:
/// - A queue that is full, or cannot have another chunk of the pool, is a trap in the original.
///   Here the page becomes free in its chunk's bit mask, and is found again when memory is short.
/// - When memory is short, the queues are emptied, and chunks whose pages are all free return to
///   the pool. In the original a page stays a page of its class for ever.
///
/// With chunks in queues:
/// - A ring cannot be full: a flag keeps a chunk from being in it twice. A virtual queue that
///   cannot have another chunk of the pool is a trap in the original. Here a chunk that finds no
///   place in it is found again when memory is short.
/// - A request that finds no chunk closes the current ones and looks through all queues, so that no
///   free page is overlooked.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/array_map.cuh"
#include "allocators/ouroboros/list_map.cuh"
#include "allocators/ouroboros/policy.cuh"
#include "allocators/ouroboros/pool.cuh"
#include "allocators/ouroboros/standard_queue.cuh"
#include "allocators/ouroboros/virtual_queue.cuh"

namespace heapwood::allocators {

namespace ouroboros {

/// The virtual queues.
template <class Policy>
using VirtualArrayQueue = VirtualQueue<Policy, ArrayMap>;
template <class Policy>
using VirtualListQueue = VirtualQueue<Policy, ListMap>;

/// The traits of an Ouroboros allocator. A chunk has a header and its predecessor in the list, a
/// state, a mask of its pages and flags; `more`: bytes of it that the queue keeps.
constexpr Traits make_traits(const char* name, const char* title, std::uint64_t more) {
    return {.name = name,
            .title = title,
            .source = "Winter, Mlakar, Parger & Steinberger 2020",
            .frees_individually = true,
            .full = true,
            .walkable = true,
            .header_bytes = 84 + more,
            .smallest_pool = 16384,
            .slow_crowds = true};
}

}  // namespace ouroboros

/// Pages in a ring.
struct OuroborosPSPolicy : ouroboros::PagesInQueues {
    template <class Policy>
    using Queue = ouroboros::StandardQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-p-s", "Ouroboros-P-S", 0);
    }
};
/// Pages in chunks that an array lists.
struct OuroborosPVAPolicy : ouroboros::PagesInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualArrayQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-p-va", "Ouroboros-P-VA", 8);
    }
};
/// Pages in chunks that are linked to a list.
struct OuroborosPVLPolicy : ouroboros::PagesInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualListQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-p-vl", "Ouroboros-P-VL", 8);
    }
};
/// Chunks in a ring.
struct OuroborosCSPolicy : ouroboros::ChunksInQueues {
    template <class Policy>
    using Queue = ouroboros::StandardQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-c-s", "Ouroboros-C-S", 0);
    }
};
/// Chunks in chunks that an array lists.
struct OuroborosCVAPolicy : ouroboros::ChunksInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualArrayQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-c-va", "Ouroboros-C-VA", 8);
    }
};
/// Chunks in chunks that are linked to a list.
struct OuroborosCVLPolicy : ouroboros::ChunksInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualListQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-c-vl", "Ouroboros-C-VL", 8);
    }
};

using OuroborosPS = ouroboros::Pool<OuroborosPSPolicy>;
using OuroborosPVA = ouroboros::Pool<OuroborosPVAPolicy>;
using OuroborosPVL = ouroboros::Pool<OuroborosPVLPolicy>;
using OuroborosCS = ouroboros::Pool<OuroborosCSPolicy>;
using OuroborosCVA = ouroboros::Pool<OuroborosCVAPolicy>;
using OuroborosCVL = ouroboros::Pool<OuroborosCVLPolicy>;

static_assert(Allocator<OuroborosPS>);
static_assert(Allocator<OuroborosPVA>);
static_assert(Allocator<OuroborosPVL>);
static_assert(Allocator<OuroborosCS>);
static_assert(Allocator<OuroborosCVA>);
static_assert(Allocator<OuroborosCVL>);

}  // namespace heapwood::allocators
