/// @file
/// Ouroboros-C-S: queues of chunks with free pages, a ring of chunks. After Winter, Mlakar, Parger
/// & Steinberger 2020 ("Ouroboros: virtualized queues for dynamic memory management on GPUs").
///
/// A queue holds chunks that have free pages: an allocation takes a page of the current chunk by
/// its bit, and the next chunk from the queue when that is used up. A chunk whose first page is
/// freed is put into the queue; one whose last page is freed returns to the pool, for any class.
/// The queue is an array used as a ring (ouroboros/standard_queue.cuh), beside the pool: 4 bytes
/// for each chunk and class.
///
/// Published: chunks of 8 KiB, pages of 16 bytes to 8 KiB, 65 536 entries a queue; here as many as
/// there are chunks. The largest pages are chunks here, and come from the list. Concurrency:
/// ouroboros/core.cuh and chunks.cuh. An allocation takes a load and two atomic operations one
/// after the other (current chunk, permit, bit), a free two.
///
/// **Against the original**, beside what all six do otherwise (ouroboros/pool.cuh):
/// - A queue cannot be full: a flag keeps a chunk from being in it twice.
/// - A request that finds no chunk closes the current ones and looks through all queues, so that no
///   free page is overlooked.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/pool.cuh"

namespace heapwood::allocators {

/// What sets it apart from the other Ouroboros allocators.
struct OuroborosCSPolicy : ouroboros::ChunksInQueues {
    template <class Policy>
    using Queue = ouroboros::StandardQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-c-s", "Ouroboros-C-S", 0);
    }
};

using OuroborosCS = ouroboros::Pool<OuroborosCSPolicy>;

static_assert(Allocator<OuroborosCS>);

}  // namespace heapwood::allocators
