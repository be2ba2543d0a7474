/// @file
/// Ouroboros-C-VA: queues of chunks with free pages, a virtual ring: an array of chunks. After
/// Winter, Mlakar, Parger & Steinberger 2020 ("Ouroboros: virtualized queues for dynamic memory
/// management on GPUs").
///
/// A queue holds chunks that have free pages: an allocation takes a page of the current chunk by
/// its bit, and the next chunk from the queue when that is used up. A chunk whose first page is
/// freed is put into the queue; one whose last page is freed returns to the pool, for any class.
/// The queue lies in chunks of the pool itself, which an array beside the pool lists
/// (ouroboros/virtual_queue.cuh, ArrayMap in virtual_maps.cuh). It takes a chunk for every 2048
/// entries that it holds, and gives it back once they are taken.
///
/// Published: chunks of 8 KiB, pages of 16 bytes to 8 KiB, 16 384 chunks a queue (kMostParts). The
/// largest pages are chunks here, and come from the list. Concurrency: ouroboros/core.cuh and
/// chunks.cuh. An allocation takes a load and two atomic operations one after the other (current
/// chunk, permit, bit), a free two.
///
/// **Against the original**, beside what all six do otherwise (ouroboros/pool.cuh):
/// - A queue that cannot have another chunk of the pool, which is a trap in the original: a chunk
///   that finds no place in it is found again when memory is short.
/// - A request that finds no chunk closes the current ones and looks through all queues, so that no
///   free page is overlooked.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/pool.cuh"

namespace heapwood::allocators {

/// What sets it apart from the other Ouroboros allocators.
struct OuroborosCVAPolicy : ouroboros::ChunksInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualArrayQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-c-va", "Ouroboros-C-VA", 8);
    }
};

using OuroborosCVA = ouroboros::Pool<OuroborosCVAPolicy>;

static_assert(Allocator<OuroborosCVA>);

}  // namespace heapwood::allocators
