/// @file
/// The part of the Ouroboros allocators that runs in kernels.
///
/// After Winter, Mlakar, Parger & Steinberger 2020 ("Ouroboros: virtualized queues for dynamic
/// memory management on GPUs"). A pool is chunks, which classes divide into pages of 16, 32, 64 ...
/// bytes. What is free is in queues: one for each class, here and for each shard of the pool
/// (geometry.h). In the page variants the queues hold pages: an allocation takes one, a free puts
/// it back. In the chunk variants they hold chunks with free pages, and a page is a bit of its
/// chunk. A queue is a ring, or lies in chunks of the pool as well: the snake that eats its tail.
///
/// **Parts.** Each part owns its state and stands on the next one, which it holds by value:
/// - Core: answers requests.
/// - Collector (collector.cuh): what happens when a request finds nothing. Search (search.cuh),
///   which has no state, looks into all shards before that.
/// - OpenChunks (open_chunks.cuh): chunks whose pages are given one by one.
/// - Stock (stock.cuh): where a free page goes.
/// - Queues (queues.cuh): the queues of all classes and shards. One queue is a StandardQueue
///   (standard_queue.cuh) or a VirtualQueue (virtual_queue.cuh).
/// - Chunks (chunks.cuh): the list behind the pool, and each chunk's class and free pages.
///
/// **Caches.** The last few pages that a caller has freed stay in its cache, if it has one, and are
/// given again from there.
///
/// **Which thread waits for which.** Threads wait for the holder of a ticket, in queues; for the
/// thread that opens a chunk or makes room in a virtual queue, but at most kPatience times, after
/// which the request does so for itself; and for the collector. All of these are in the middle of a
/// call, which ends, and none of them waits for a thread that waits for it: the collector waits for
/// ticket holders only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/collector.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/open_chunks.cuh"
#include "allocators/ouroboros/search.cuh"
#include "allocators/parts/kept_blocks.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/opaque_call.cuh"

namespace heapwood::allocators::ouroboros {

/// What a caller's cache keeps: of the smallest seven classes four pages each, a page as its first
/// unit plus 1.
using Cache = KeptBlocks<7, 4>;

/// The handle that kernels use. Policy: policy.cuh.
template <class Policy>
class Core {
public:
    Core() = default;
    /// `largest_cached`: bytes of the largest page that callers' caches keep; 0: none.
    Core(const Collector<Policy>& collector, std::uint32_t largest_cached)
        : collector_(collector), largest_cached_(largest_cached) {}

    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < largest_cached_ && context.cache != nullptr) {
            const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
            const std::uint32_t kept = Cache(*context.cache).take(k);
            if (kept != 0) return chunks().address(kept - 1);
        }
        return allocate_uncached(context, bytes);
    }

    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes <= largest_cached_ && context.cache != nullptr) {
            const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
            const std::uint32_t out = Cache(*context.cache).put(k, chunks().unit(p) + 1);
            if (out != 0) stock().free_unit(context, k, out - 1);
            return;
        }
        deallocate_uncached(context, p, bytes);
    }

    /// Puts what a caller's cache keeps into the queues.
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        Cache(*context.cache).empty([&](std::uint32_t k, std::uint32_t kept) {
            stock().free_unit(context, k, kept - 1);
        });
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > geometry().largest_page()) return chunks().list().granted_bytes(p, bytes);
        return std::uint64_t{1} << (geometry().class_of(static_cast<std::uint32_t>(bytes)) +
                                    geometry().unit_shift);
    }

    /// See heap/known_blocks.cuh.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const { return chunks().known_bytes(p); }
    HEAPWOOD_FN std::size_t largest_known() const { return geometry().largest_page(); }

private:
    using Queue = typename Queues<Policy>::Queue;

    HEAPWOOD_INLINE const OpenChunks<Policy>& open() const { return collector_.open(); }
    HEAPWOOD_INLINE const Stock<Policy>& stock() const { return open().stock(); }
    HEAPWOOD_INLINE const Queues<Policy>& queues() const { return open().queues(); }
    HEAPWOOD_INLINE const Chunks<Policy>& chunks() const { return open().chunks(); }
    HEAPWOOD_INLINE const Geometry& geometry() const { return open().geometry(); }

    // What a cache does not answer is out of line, for one copy of it is less to fetch than
    // several. It takes contexts by value, so that callers' contexts need not lie in memory.

    HEAPWOOD_NOINLINE void* allocate_uncached(Context context, std::size_t bytes) const {
        if (bytes - 1 >= geometry().largest_page()) return allocate_large(context, bytes);
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t shard = geometry().home_of(context.multiprocessor);
        // Loaded already now, in case the queue has no page.
        const auto w = open().word(k, shard).load_relaxed();
        std::uint32_t unit = kNone;
        if constexpr (!Policy::kQueuesChunks) unit = queues().take_for_all(context, k, shard);
        if (unit == kNone) unit = open().take_opened(context, k, shard, w);
        if (unit != kNone) return chunks().address(unit);
        // With nothing to keep for afterwards, which would be saved at every request.
        return allocate_slowly(context, bytes);
    }
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t shard = geometry().home_of(context.multiprocessor);
        const std::uint32_t unit = take_nearby_or_open(context, k, shard);
        return unit == kNone ? allocate_at_last(context, bytes) : chunks().address(unit);
    }
    /// A page of a shard that has some in its queue, or of another chunk, or kNone. What a
    /// multiprocessor frees may come from any shard, and threads that come back do so elsewhere.
    HEAPWOOD_NOINLINE std::uint32_t take_nearby_or_open(Context context, std::uint32_t k,
                                                        std::uint32_t shard) const {
        if constexpr (!Policy::kQueuesChunks) {
            const std::uint32_t shards = geometry().shards;
            const std::uint32_t stride = platform::ceil_div(shards, Policy::kNeighbours);
            // Another warp starts elsewhere, so that not all go to the same one.
            const std::uint32_t first = shard + context.warp % stride;
            std::uint32_t some = 0;
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < Policy::kNeighbours; ++i) {
                some |= std::uint32_t{queues().has_entries(k, (first + i * stride) % shards)} << i;
            }
            HEAPWOOD_UNROLL(1)
            for (; some != 0; some &= some - 1) {
                const std::uint32_t i = platform::floor_log2(some & (0 - some));
                const std::uint32_t unit =
                    queues().take_for_all(context, k, (first + i * stride) % shards);
                if (unit != kNone) return unit;
            }
        }
        return open().open_chunk(context, k, shard);
    }
    HEAPWOOD_NOINLINE void deallocate_uncached(Context context, void* p, std::size_t bytes) const {
        if (bytes > geometry().largest_page()) {
            chunks().return_block(context, p);
        } else {
            stock().free_unit(context, geometry().class_of(static_cast<std::uint32_t>(bytes)),
                              chunks().unit(p));
        }
    }

    HEAPWOOD_NOINLINE void flush_slowly(Context context) const { flush(context); }

    /// A page when the list has no chunk, or nullptr.
    HEAPWOOD_NOINLINE void* allocate_at_last(Context context, std::size_t bytes) const {
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        std::uint32_t unit = Search<Policy>::take_anywhere(open(), context, k);
        if (unit == kNone && chunks().taken() != 0) {
            // Deep where queues take chunks from the list, and return them.
            if constexpr (Queue::kGrows) {
                unit = platform::opaque_call(&Core::collect_page, this, context, k);
            } else {
                unit = collect_page(this, context, k);
            }
        }
        return unit == kNone ? nullptr : chunks().address(unit);
    }
    HEAPWOOD_NOINLINE static std::uint32_t collect_page(const Core* self, Context context,
                                                        std::uint32_t k) {
        return self->collect(context, 1, kNone, [&](Collection collection) {
            const std::uint32_t shard = self->geometry().home_of(context.multiprocessor);
            const std::uint32_t unit = self->open().open_chunk(context, k, shard);
            if (unit != kNone) return unit;
            return collection == Collection::own
                       ? self->stock().take_stray(context, k, 0, self->geometry().chunks)
                       : Search<Policy>::take_anywhere(self->open(), context, k);
        });
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > std::uint64_t{geometry().chunks} << geometry().chunk_shift) {
            return nullptr;
        }
        void* p = chunks().take_block(context, bytes);
        if (p != nullptr || chunks().taken() == 0) return p;
        if constexpr (Queue::kGrows) {
            return platform::opaque_call(&Core::collect_large, this, context, bytes);
        } else {
            return collect_large(this, context, bytes);
        }
    }
    HEAPWOOD_NOINLINE static void* collect_large(const Core* self, Context context,
                                                 std::size_t bytes) {
        const auto wanted =
            static_cast<std::uint32_t>((bytes - 1) >> self->geometry().chunk_shift) + 1;
        void* const none = nullptr;
        return self->collect(context, wanted, none,
                             [&](Collection) { return self->chunks().take_block(context, bytes); });
    }
    /// What `request` gives after a collection, or `none`. `wanted`: chunks.
    template <class T, class Again>
    HEAPWOOD_INLINE T collect(const Context& context, std::uint32_t wanted, T none,
                              Again&& request) const {
        // What the cache keeps may be what the request needs; that it is freed counts as a change.
        flush_slowly(context);
        std::uint64_t expected = 0;
        const Collection collection = collector_.begin(context, wanted, expected);
        if (collection == Collection::in_vain) return none;
        const T got = request(collection);
        if (collection == Collection::own) collector_.end(context, wanted, expected, got != none);
        return got;
    }

    Collector<Policy> collector_;
    std::uint32_t largest_cached_;  // bytes
};

}  // namespace heapwood::allocators::ouroboros
