/// @file
/// Ouroboros-P-VA: queues of free pages, a virtual ring: an array of chunks. After Winter, Mlakar,
/// Parger & Steinberger 2020 ("Ouroboros: virtualized queues for dynamic memory management on
/// GPUs").
///
/// A queue holds pages: an allocation takes one, a free puts it back. A class that finds its queue
/// empty gives the pages of its open chunks one by one, and opens others when these are used up.
/// Pages do not return to their chunk, nor chunks to the pool, until memory runs out. The queue
/// lies in chunks of the pool itself, which an array beside the pool lists
/// (ouroboros/virtual_queue.cuh, ArrayMap in virtual_maps.cuh). It takes a chunk for every 2048
/// entries that it holds, and gives it back once they are taken.
///
/// Published: chunks of 8 KiB, pages of 16 bytes to 8 KiB, 16 384 chunks a queue (kMostParts).
/// Concurrency: ouroboros/core.cuh and the queue's file. An allocation takes three atomic
/// operations one after the other (semaphore, ticket, count in the chunk; and looks into the array
/// and at the entry), a free two (semaphore, ticket; and a look into the array); once for all lanes
/// that call together.
///
/// **Against the original**, beside what all six do otherwise (ouroboros/pool.cuh):
/// - A queue that is full, or cannot have another chunk, which is a trap in the original: the page
///   becomes free in its chunk's bit mask, and is found again when memory is short.
/// - When memory is short, the queues are emptied, and chunks whose pages are all free return to
///   the pool. In the original a page is one for ever.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/pool.cuh"

namespace heapwood::allocators {

/// What sets it apart from the other Ouroboros allocators.
struct OuroborosPVAPolicy : ouroboros::PagesInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualArrayQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-p-va", "Ouroboros-P-VA", 8);
    }
};

using OuroborosPVA = ouroboros::Pool<OuroborosPVAPolicy>;

static_assert(Allocator<OuroborosPVA>);

}  // namespace heapwood::allocators
