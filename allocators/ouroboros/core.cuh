/// @file
/// The part of the Ouroboros allocators that runs in kernels.
///
/// After Winter, Mlakar, Parger & Steinberger 2020 ("Ouroboros: virtualized queues for dynamic
/// memory management on GPUs"). A pool is chunks (chunks.cuh), which classes divide into pages of
/// 16, 32, 64 ... bytes; what is free is in queues: one for each class, here and for each shard of
/// the pool (geometry.h). In the page variants they hold pages: an allocation takes one, a free
/// puts it back. In the chunk variants they hold chunks with free pages, and a page is a bit of its
/// chunk. The queue is a ring (standard_queue.cuh), or lies in chunks of the pool as well
/// (virtual_queue.cuh): the snake that eats its tail.
///
/// **Where what is.** What is free, and the lanes of a warp that call together: stock.cuh. Chunks
/// whose pages are given one by one, as they were never used: open_chunks.cuh. What happens when
/// memory is short: collector.cuh.
///
/// **Caches.** The last few pages that a caller has freed stay in its cache, if it has one
/// (cache.cuh), and are given again from there.
///
/// **Who waits for whom.** For a ticket's holder, in queues; for the opener of a chunk, and who
/// makes room in a virtual queue, for at most kPatience times, then the request does so for itself;
/// for the collector. All of these are in the middle of a call, which ends, and none of them waits
/// for one that waits for it: the collector waits for ticket holders only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/cache.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/collector.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/hidden_call.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// What a Policy is derived from. It adds `traits()`, `Queue` and kQueuesChunks, as pool.cuh and
/// ouroboros_p_s.cuh do.
struct DefaultPolicy {
    /// Most entries of the standard queues of a class together: published, for pages. (Published
    /// for chunks: 65 536.) A page that finds no room goes back to its chunk.
    static constexpr std::uint32_t kMostEntries = 8U << 20;
    /// Most parts of the virtual queues of a class together, in arrays: published.
    static constexpr std::uint32_t kMostParts = 16384;
    /// Whether callers' caches keep pages.
    static constexpr bool kCaches = true;
    /// Into how many shards' queues of pages a request looks before it opens a chunk.
    static constexpr std::uint32_t kNeighbours = 8;
    /// A chunk with at most so many pages is opened for one request; the others are free at once.
    static constexpr std::uint32_t kFewPages = 4;
    /// How often a request waits for the opener of a chunk, or for who makes room in a queue.
    static constexpr unsigned kPatience = 256;
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The handle that kernels use.
template <class Policy>
class Core : public Collector<Policy> {
    using Base = Collector<Policy>;

public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < largest_cached_ && context.cache != nullptr) {
            const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
            const std::uint32_t unit = PageCache(*context.cache).take(k);
            if (unit != kNone) return chunks_.address(unit);
        }
        return allocate_uncached(context, bytes);
    }

    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes <= largest_cached_ && context.cache != nullptr) {
            const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
            const std::uint32_t out = PageCache(*context.cache).put(k, chunks_.unit(p));
            if (out != kNone) free_unit(context, k, out);
            return;
        }
        deallocate_uncached(context, p, bytes);
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > geometry().largest_page()) return chunks_.list().granted_bytes(p, bytes);
        return std::uint64_t{1} << (geometry().class_of(static_cast<std::uint32_t>(bytes)) +
                                    geometry().unit_shift);
    }

private:
    template <class>
    friend class Pool;

    using Base::begin_collection;
    using Base::chunks_;
    using Base::control;
    using Base::end_collection;
    using Base::free_unit;
    using Base::geometry;
    using Base::has_entries;
    using Base::open;
    using Base::open_chunk;
    using Base::take_anywhere;
    using Base::take_for_all;
    using Base::take_opened;
    using Base::take_stray;
    using typename Base::Collection;
    using typename Base::Open;

    // What a cache does not answer is out of line, for one copy of it is less to fetch than
    // several, and takes contexts by value, so that callers' need not lie in memory.

    HEAPWOOD_NOINLINE void* allocate_uncached(Context context, std::size_t bytes) const {
        if (bytes - 1 >= geometry().largest_page()) return allocate_large(context, bytes);
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t shard = geometry().home_of(context.multiprocessor);
        // Asked for already, in case that the queue has no page.
        const Open w = open(k, shard).load_relaxed();
        std::uint32_t unit = kNone;
        if constexpr (!Policy::kQueuesChunks) unit = take_for_all(context, k, shard);
        if (unit == kNone) unit = take_opened(context, k, shard, w);
        if (unit != kNone) return chunks_.address(unit);
        // With nothing to keep for afterwards, which would be saved at every request.
        return allocate_slowly(context, bytes);
    }
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t shard = geometry().home_of(context.multiprocessor);
        const std::uint32_t unit = take_nearby_or_open(context, k, shard);
        return unit == kNone ? allocate_at_last(context, bytes) : chunks_.address(unit);
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
                some |= std::uint32_t{has_entries(control(k, (first + i * stride) % shards))} << i;
            }
            HEAPWOOD_UNROLL(1)
            for (; some != 0; some &= some - 1) {
                const std::uint32_t i = platform::floor_log2(some & (0 - some));
                const std::uint32_t unit = take_for_all(context, k, (first + i * stride) % shards);
                if (unit != kNone) return unit;
            }
        }
        return open_chunk(context, k, shard);
    }
    HEAPWOOD_NOINLINE void deallocate_uncached(Context context, void* p, std::size_t bytes) const {
        if (bytes > geometry().largest_page()) {
            chunks_.return_block(context, p);
        } else {
            free_unit(context, geometry().class_of(static_cast<std::uint32_t>(bytes)),
                      chunks_.unit(p));
        }
    }

    /// A page when the list has no chunk, or nullptr.
    HEAPWOOD_NOINLINE void* allocate_at_last(Context context, std::size_t bytes) const {
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        std::uint32_t unit = take_anywhere(context, k);
        if (unit == kNone && chunks_.taken() != 0) {
            // Deep where queues take chunks from the list, and return them.
            if constexpr (Base::Queue::kGrows) {
                unit = platform::call_hidden<&Core::collect_page>(this, context, k);
            } else {
                unit = collect_page(this, context, k);
            }
        }
        return unit == kNone ? nullptr : chunks_.address(unit);
    }
    HEAPWOOD_NOINLINE static std::uint32_t collect_page(const Core* self, Context context,
                                                        std::uint32_t k) {
        return self->collect(context, 1, kNone, [&](Collection collection) {
            const std::uint32_t shard = self->geometry().home_of(context.multiprocessor);
            const std::uint32_t unit = self->open_chunk(context, k, shard);
            if (unit != kNone) return unit;
            return collection == Collection::own
                       ? self->take_stray(context, k, 0, self->geometry().chunks)
                       : self->take_anywhere(context, k);
        });
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > std::uint64_t{geometry().chunks} << geometry().chunk_shift) {
            return nullptr;
        }
        void* p = chunks_.take_block(context, bytes);
        if (p != nullptr || chunks_.taken() == 0) return p;
        if constexpr (Base::Queue::kGrows) {
            return platform::call_hidden<&Core::collect_large>(this, context, bytes);
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
                             [&](Collection) { return self->chunks_.take_block(context, bytes); });
    }
    /// What `request` gives after a collection, or `none`. `wanted`: chunks.
    template <class T, class Again>
    HEAPWOOD_INLINE T collect(const Context& context, std::uint32_t wanted, T none,
                              Again&& request) const {
        std::uint64_t expected = 0;
        const Collection collection = begin_collection(context, wanted, expected);
        if (collection == Collection::in_vain) return none;
        const T got = request(collection);
        if (collection == Collection::own) end_collection(context, wanted, expected, got != none);
        return got;
    }

    std::uint32_t largest_cached_;  // bytes
};

}  // namespace heapwood::allocators::ouroboros
