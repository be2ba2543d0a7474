/// @file
/// What is free in an Ouroboros pool: the pages or chunks in queues, and the free pages of chunks.
///
/// **Lanes.** The lanes of a warp that ask for the same class at the same time, or free pages for
/// the same queue, form a group (platform/lanes.cuh): its leader lowers the semaphore and draws the
/// tickets for all, each lane accesses its own place, and the leader raises the other semaphore
/// when all have done so. Which lanes form a group makes no difference: the leader's operations are
/// those of n lanes one after the other, with nobody in between, which could have happened as well;
/// what it acquires passes to the others by sync(); and no lane waits in a place for a member of
/// its group, for all of these have their tickets, and access their places, before they meet again.
/// If there is less than the group asked for, the lowest lanes get it.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/cache.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/hidden_call.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// The chunks, the queues of all classes and shards, and what passes between them. Policy:
/// core.cuh.
template <class Policy>
class Stock {
public:
    /// Puts what a caller's cache keeps into the queues.
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        PageCache(*context.cache).empty([&](std::uint32_t k, std::uint32_t unit) {
            free_unit(context, k, unit);
        });
    }

protected:
    using Queue = typename Policy::template Queue<Policy>;

    /// Of a chunk's flags, bit k says that it is in the queue of class k.
    static constexpr std::uint32_t kCurrent = 1U << 31;

    HEAPWOOD_INLINE const Geometry& geometry() const { return chunks_.geometry(); }
    HEAPWOOD_INLINE Control& control(std::uint32_t k, std::uint32_t shard) const {
        return controls_[geometry().queue(k, shard)];
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> flags(std::uint32_t chunk) const {
        return platform::AtomicRef<std::uint32_t>(flags_[chunk]);
    }
    HEAPWOOD_INLINE static bool has_entries(Control& c) {
        return static_cast<std::int32_t>(
                   platform::AtomicRef<std::uint32_t>(c.filled).load_relaxed()) > 0;
    }
    /// A page is free: for a queue, or in its chunk.
    HEAPWOOD_NOINLINE void free_unit(Context context, std::uint32_t k, std::uint32_t unit) const {
        if constexpr (Policy::kQueuesChunks) {
            free_page(context, k, unit);
        } else {
            const std::uint32_t shard = geometry().shard_of(geometry().chunk_of(unit));
            const platform::Lanes lanes(geometry().queue(k, shard));
            if (!queue_.put(chunks_, control(k, shard), k, shard, lanes, unit)) {
                if constexpr (Queue::kGrows) {
                    // Deep: it takes a chunk from the list.
                    platform::call_hidden<&Stock::free_slowly>(this, context, k, unit);
                } else {
                    free_stray(context, k, shard, unit);
                }
            }
        }
    }

    /// Pages: one for which the queue has no room yet.
    HEAPWOOD_NOINLINE static void free_slowly(const Stock* self, Context context, std::uint32_t k,
                                              std::uint32_t unit) {
        const std::uint32_t shard = self->geometry().shard_of(self->geometry().chunk_of(unit));
        HEAPWOOD_UNROLL(1)
        for (;;) {
            // Those that are left: one makes room for all.
            const platform::Lanes lanes(self->geometry().queue(k, shard));
            std::uint32_t more = 0;
            if (lanes.rank() == 0) more = self->extend(context, k, shard) ? 1 : 0;
            if (lanes.of_leader(more) == 0) return self->free_stray(context, k, shard, unit);
            Control& c = self->control(k, shard);
            if (self->queue_.put(self->chunks_, c, k, shard, lanes, unit)) return;
        }
    }
    /// Makes room for more entries. @return false: there is none.
    HEAPWOOD_INLINE bool extend(const Context& context, std::uint32_t k,
                                std::uint32_t shard) const {
        return queue_.extend(chunks_, context, control(k, shard), k, shard);
    }

    HEAPWOOD_INLINE std::uint32_t take_entry(const Context& context, std::uint32_t k,
                                             std::uint32_t shard) const {
        return queue_.take(chunks_, context, control(k, shard), k, shard, platform::Alone());
    }
    /// As take_entry(), for all lanes together that ask the same queue.
    HEAPWOOD_INLINE std::uint32_t take_for_all(const Context& context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const platform::Lanes lanes(geometry().queue(k, shard));
        return queue_.take(chunks_, context, control(k, shard), k, shard, lanes);
    }
    /// Puts a chunk, or a page of it, into its queue. @return false: there is no room.
    HEAPWOOD_INLINE bool put_entry(const Context& context, std::uint32_t k, std::uint32_t chunk,
                                   std::uint32_t entry) const {
        const std::uint32_t shard = geometry().shard_of(chunk);
        HEAPWOOD_UNROLL(1)
        while (!queue_.put(chunks_, control(k, shard), k, shard, platform::Alone(), entry)) {
            if (!extend(context, k, shard)) return false;
        }
        return true;
    }
    /// A page of a chunk, if it has class k.
    template <class Group>
    HEAPWOOD_INLINE std::uint32_t take_page(const Context& context, std::uint32_t chunk,
                                            std::uint32_t k, const Group& group) const {
        const std::uint32_t page = chunks_.take_page(
            chunk, k, group,
            [&](State before, std::uint32_t more) { raised(context, chunk, before, more); });
        return page == kNone ? kNone : geometry().unit_of(chunk, page, k);
    }
    HEAPWOOD_NOINLINE std::uint32_t take_page(Context context, std::uint32_t chunk,
                                              std::uint32_t k) const {
        return take_page(context, chunk, k, platform::Alone());
    }
    HEAPWOOD_INLINE void free_page(const Context& context, std::uint32_t k,
                                   std::uint32_t unit) const {
        const std::uint32_t chunk = geometry().chunk_of(unit);
        raised(context, chunk, chunks_.free_page(chunk, geometry().page_of(unit, k)), 1);
    }
    /// Pages: one for which the queue has no room becomes free in its chunk.
    HEAPWOOD_NOINLINE void free_stray(Context context, std::uint32_t k, std::uint32_t shard,
                                      std::uint32_t unit) const {
        free_page(context, k, unit);
        count_stray(k, shard);
    }
    /// Release: what is free and in no queue, to those who search the chunks.
    HEAPWOOD_INLINE void count_stray(std::uint32_t k, std::uint32_t shard) const {
        platform::AtomicRef<std::uint32_t>(control(k, shard).strays).add_release(1);
    }
    /// A chunk has `more` free pages than it had.
    HEAPWOOD_INLINE void raised(const Context& context, std::uint32_t chunk, State before,
                                std::uint32_t more) const {
        if (!before.has_pages()) return;
        const std::uint32_t k = before.class_field() - 1;
        const std::int32_t now = before.free() + static_cast<std::int32_t>(more);
        if (now == static_cast<std::int32_t>(geometry().pages(k)) ||
            (Policy::kQueuesChunks && before.free() <= 0 && now > 0)) {
            file(context, chunk, k);
        }
    }

    /// Returns a chunk of class k that is whole, and keeps one with free pages in its queue.
    /// @return how much it has added to changes().
    HEAPWOOD_NOINLINE std::uint32_t file(Context context, std::uint32_t chunk,
                                         std::uint32_t k) const {
        const State now(chunks_.state(chunk).load_relaxed());
        if (now.class_field() != k + 1) return 0;
        if (now.free() == static_cast<std::int32_t>(geometry().pages(k))) {
            if (Policy::kQueuesChunks && (flags(chunk).add_acq_rel(0) & kCurrent) != 0) {
                // A request that needs it could close it.
                chunks_.count_change();
                return 1;
            }
            if (chunks_.take_whole(chunk, k)) {
                chunks_.return_chunk(context, chunk);
                return 1;
            }
        }
        if (Policy::kQueuesChunks && now.free() > 0 &&
            // Release: what is free, to whoever clears the flag.
            (flags(chunk).or_acq_rel(1U << k) >> k & 1U) == 0) {
            Policy::pause();
            if (!put_entry(context, k, chunk, chunk)) {
                flags(chunk).and_acq_rel(~(1U << k));
                count_stray(k, geometry().shard_of(chunk));
            }
            return 1;
        }
        return 0;
    }

    Chunks<Policy> chunks_;
    Queue queue_;
    Control* controls_;
    std::uint32_t* flags_;
};

}  // namespace heapwood::allocators::ouroboros
