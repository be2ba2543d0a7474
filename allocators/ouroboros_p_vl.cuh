/// @file
/// Ouroboros-P-VL: queues of free pages, a virtual ring: a list of chunks. After Winter, Mlakar,
/// Parger & Steinberger 2020 ("Ouroboros: virtualized queues for dynamic memory management on
/// GPUs").
///
/// A queue holds pages: an allocation takes one, a free puts it back. A class that finds its queue
/// empty gives the pages of its open chunks one by one, and opens others when these are used up.
/// Pages do not return to their chunk, nor chunks to the pool, until memory runs out. The queue
/// lies in chunks of the pool itself, which are linked to a list (ouroboros/virtual_queue.cuh,
/// ListMap in virtual_maps.cuh). It takes a chunk for every 2048 entries that it holds, and gives
/// it back once they are taken.
///
/// Published: chunks of 8 KiB, pages of 16 bytes to 8 KiB, queues of any length. Concurrency:
/// ouroboros/core.cuh and the queue's file. An allocation takes three atomic operations one after
/// the other (semaphore, ticket, count in the chunk; and looks at the list and at the entry), a
/// free two (semaphore, ticket; and a look at the list); once for all lanes that call together.
///
/// **Against the original**, beside what all six do otherwise (ouroboros/pool.cuh):
/// - A queue that cannot have another chunk, which is a trap in the original: the page becomes free
///   in its chunk's bit mask, and is found again when memory is short.
/// - When memory is short, the queues are emptied, and chunks whose pages are all free return to
///   the pool. In the original a page is one for ever.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/pool.cuh"

namespace heapwood::allocators {

/// What sets it apart from the other Ouroboros allocators.
struct OuroborosPVLPolicy : ouroboros::PagesInQueues {
    template <class Policy>
    using Queue = ouroboros::VirtualListQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-p-vl", "Ouroboros-P-VL", 8);
    }
};

using OuroborosPVL = ouroboros::Pool<OuroborosPVLPolicy>;

static_assert(Allocator<OuroborosPVL>);

}  // namespace heapwood::allocators
