/// @file
/// Ouroboros-P-S: queues of free pages, a ring of pages. After Winter, Mlakar, Parger & Steinberger
/// 2020 ("Ouroboros: virtualized queues for dynamic memory management on GPUs").
///
/// A queue holds pages: an allocation takes one, a free puts it back. A class that finds its queue
/// empty gives the pages of its open chunks one by one, and opens others when these are used up.
/// Pages do not return to their chunk, nor chunks to the pool, until memory runs out. The queue is
/// an array used as a ring (ouroboros/standard_queue.cuh), beside the pool: 4 bytes for each page
/// that the pool can have, of each class, at most kMostEntries a class: half of a pool of up to 128
/// MiB, in all.
///
/// Published: chunks of 8 KiB, pages of 16 bytes to 8 KiB, 8 Mi entries a queue (kMostEntries).
/// Concurrency: ouroboros/core.cuh and the queue's file. An allocation takes three atomic
/// operations one after the other (semaphore, ticket, entry), a free two (ticket, entry), or three
/// where a queue has not a place for all pages; once for all lanes that call together.
///
/// **Against the original**, beside what all six do otherwise (ouroboros/pool.cuh):
/// - A queue that is full, which is a trap in the original: the page becomes free in its chunk's
///   bit mask, and is found again when memory is short.
/// - When memory is short, the queues are emptied, and chunks whose pages are all free return to
///   the pool. In the original a page is one for ever.
#pragma once

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/pool.cuh"

namespace heapwood::allocators {

/// What sets it apart from the other Ouroboros allocators.
struct OuroborosPSPolicy : ouroboros::PagesInQueues {
    template <class Policy>
    using Queue = ouroboros::StandardQueue<Policy>;
    static constexpr Traits traits() {
        return ouroboros::make_traits("ouroboros-p-s", "Ouroboros-P-S", 0);
    }
};

using OuroborosPS = ouroboros::Pool<OuroborosPSPolicy>;

static_assert(Allocator<OuroborosPS>);

}  // namespace heapwood::allocators
