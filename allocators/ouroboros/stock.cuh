/// @file
/// Where a free page of an Ouroboros pool goes: into a queue, or back into its chunk.
///
/// **Pages.** A free page goes into its queue. If the queue has no room, the page becomes free in
/// its chunk (chunks.cuh): it is a stray, which is found when memory is short.
///
/// **Chunks.** A free page becomes free in its chunk. A chunk whose first page becomes free is put
/// into the queue, unless it is there already: a flag for each class says so. (If the queue has no
/// room, the chunk is a stray.) The flag is cleared by the thread that takes the chunk out, before
/// that thread looks for free pages. So a thread that sets a page free and finds the flag set knows
/// that another thread will yet look. A chunk all of whose pages are free returns to the list,
/// unless it is current (open_chunks.cuh). An entry that it leaves in a queue is found to be out of
/// date by the thread that takes it out.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/queues.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/opaque_call.cuh"

namespace heapwood::allocators::ouroboros {

/// Free pages, on top of the queues and chunks. Owns the chunks' flags. Policy: policy.cuh.
template <class Policy>
class Stock {
    using Queue = typename Queues<Policy>::Queue;

public:
    Stock() = default;
    /// `flags`: a word for each chunk, zero at first.
    Stock(const Queues<Policy>& queues, std::uint32_t* flags) : queues_(queues), flags_(flags) {}

    HEAPWOOD_INLINE const Queues<Policy>& queues() const { return queues_; }
    HEAPWOOD_INLINE const Chunks<Policy>& chunks() const { return queues_.chunks(); }
    HEAPWOOD_INLINE const Geometry& geometry() const { return chunks().geometry(); }

    // ---------------------------------------------------------------- pages

    /// A page is free: for a queue, or in its chunk.
    HEAPWOOD_NOINLINE void free_unit(Context context, std::uint32_t k, std::uint32_t unit) const {
        if constexpr (Policy::kQueuesChunks) {
            free_page(context, k, unit);
        } else {
            const std::uint32_t shard = geometry().shard_of(geometry().chunk_of(unit));
            const platform::Lanes lanes(queues_.filled(queues_.control(k, shard)));
            if (!queues_.put(k, shard, lanes, unit)) {
                if constexpr (Queue::kGrows) {
                    // Deep: it takes a chunk from the list.
                    platform::opaque_call(&Stock::free_slowly, this, context, k, unit);
                } else {
                    free_stray(context, k, shard, unit);
                }
            }
        }
    }
    /// A page becomes free in its chunk.
    HEAPWOOD_INLINE void free_page(const Context& context, std::uint32_t k,
                                   std::uint32_t unit) const {
        const std::uint32_t chunk = geometry().chunk_of(unit);
        raised(context, chunk, chunks().free_page(chunk, geometry().page_of(unit, k)), 1);
    }
    /// Pages: one for which the queue has no room becomes free in its chunk.
    HEAPWOOD_NOINLINE void free_stray(Context context, std::uint32_t k, std::uint32_t shard,
                                      std::uint32_t unit) const {
        free_page(context, k, unit);
        count_stray(k, shard);
    }

    /// A page of a chunk for each lane of a group, if the chunk has class k and free pages.
    template <class Group>
    HEAPWOOD_INLINE std::uint32_t take_page(const Context& context, std::uint32_t chunk,
                                            std::uint32_t k, const Group& group) const {
        const std::uint32_t page = chunks().take_page(
            chunk, k, group,
            [&](State before, std::uint32_t more) { given_back(context, chunk, before, more); });
        return page == kNone ? kNone : geometry().unit_of(chunk, page, k);
    }
    HEAPWOOD_NOINLINE std::uint32_t take_page(Context context, std::uint32_t chunk,
                                              std::uint32_t k) const {
        return take_page(context, chunk, k, platform::Alone());
    }
    /// A page of any of the chunks from `begin` on before `end` that has one of class k.
    HEAPWOOD_NOINLINE std::uint32_t take_stray(Context context, std::uint32_t k,
                                               std::uint32_t begin, std::uint32_t end) const {
        HEAPWOOD_UNROLL(1)
        for (; begin < end; begin += kChunksAtOnce) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t some = with_free_pages(begin, end); some != 0; some &= some - 1) {
                const std::uint32_t chunk = begin + platform::floor_log2(some & (0 - some));
                if (State(chunks().state(chunk).load_relaxed()).class_field() != k + 1) continue;
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit != kNone) return unit;
            }
        }
        return kNone;
    }

    // ---------------------------------------------------------------- chunks

    /// Returns a chunk of class k that is whole, and keeps one with free pages in its queue.
    /// @return how much it has added to the collector's changes().
    HEAPWOOD_NOINLINE std::uint32_t file(Context context, std::uint32_t chunk,
                                         std::uint32_t k) const {
        const State now(chunks().state(chunk).load_relaxed());
        if (now.class_field() != k + 1) return 0;
        if (now.free() == static_cast<std::int32_t>(geometry().pages(k))) {
            if (Policy::kQueuesChunks && (flags(chunk).add_acq_rel(0) & kCurrent) != 0) {
                // A request that needs it could close it.
                chunks().count_change();
                return 1;
            }
            if (chunks().take_whole(chunk, k)) {
                chunks().return_chunk(context, chunk);
                return 1;
            }
        }
        if (Policy::kQueuesChunks && now.free() > 0 &&
            // Release: what is free, to the thread that clears the flag.
            (flags(chunk).or_acq_rel(1U << k) >> k & 1U) == 0) {
            Policy::pause();
            if (!queues_.put_entry(context, k, chunk, chunk)) {
                flags(chunk).and_acq_rel(~(1U << k));
                count_stray(k, geometry().shard_of(chunk));
            }
            return 1;
        }
        return 0;
    }
    /// Puts what is free in chunks into the queues. @return as file().
    HEAPWOOD_NOINLINE std::uint64_t scatter(Context context) const {
        std::uint64_t changes = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t begin = 0; begin < geometry().chunks; begin += kChunksAtOnce) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t some = with_free_pages(begin, geometry().chunks); some != 0;
                 some &= some - 1) {
                const std::uint32_t chunk = begin + platform::floor_log2(some & (0 - some));
                const State s(chunks().state(chunk).load_relaxed());
                if (s.has_pages()) changes += scatter_chunk(context, chunk, s.class_field() - 1);
            }
        }
        return changes;
    }

    // Chunks: what the flags say.

    /// A chunk is now the current one of its class.
    HEAPWOOD_INLINE void make_current(std::uint32_t chunk) const {
        flags(chunk).or_acq_rel(kCurrent);
    }
    HEAPWOOD_INLINE void end_current(std::uint32_t chunk) const {
        flags(chunk).and_acq_rel(~kCurrent);
    }
    /// A chunk has been taken out of the queue of class k. Acquire: what was free when a thread
    /// found the flag set.
    HEAPWOOD_INLINE void leave_queue(std::uint32_t chunk, std::uint32_t k) const {
        flags(chunk).and_acq_rel(~(1U << k));
    }

private:
    /// Of a chunk's flags, bit k says that it is in the queue of class k.
    static constexpr std::uint32_t kCurrent = 1U << 31;
    /// How many chunks' states are looked at together.
    static constexpr std::uint32_t kChunksAtOnce = 8;

    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> flags(std::uint32_t chunk) const {
        return platform::AtomicRef<std::uint32_t>(flags_[chunk]);
    }

    /// Pages: frees one for which the queue has no room yet.
    HEAPWOOD_NOINLINE static void free_slowly(const Stock* self, Context context, std::uint32_t k,
                                              std::uint32_t unit) {
        const Queues<Policy>& queues = self->queues_;
        const std::uint32_t shard = self->geometry().shard_of(self->geometry().chunk_of(unit));
        HEAPWOOD_UNROLL(1)
        for (;;) {
            // The lanes whose pages are left: one makes room for all.
            const platform::Lanes lanes(queues.filled(queues.control(k, shard)));
            std::uint32_t more = 0;
            if (lanes.rank() == 0) more = queues.extend(context, k, shard) ? 1 : 0;
            if (lanes.of_leader(more) == 0) return self->free_stray(context, k, shard, unit);
            if (queues.put(k, shard, lanes, unit)) return;
        }
    }
    /// Release: what is free and in no queue, to threads that search the chunks.
    HEAPWOOD_INLINE void count_stray(std::uint32_t k, std::uint32_t shard) const {
        platform::AtomicRef<std::uint32_t>(queues_.control(k, shard).strays).add_release(1);
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

    /// As raised(), by permits that were asked for in vain. Pages: what became free meanwhile was
    /// hidden from searches, and is a stray anew.
    HEAPWOOD_INLINE void given_back(const Context& context, std::uint32_t chunk, State before,
                                    std::uint32_t more) const {
        // Before raised(), so that nothing need be kept across its calls.
        if (!Policy::kQueuesChunks && before.has_pages() && before.free() <= 0 &&
            before.free() + static_cast<std::int32_t>(more) > 0) {
            count_stray(before.class_field() - 1, geometry().shard_of(chunk));
        }
        raised(context, chunk, before, more);
    }

    /// Bit i tells whether chunk begin + i, before `end`, has free pages.
    HEAPWOOD_INLINE std::uint32_t with_free_pages(std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t some = 0;
        HEAPWOOD_UNROLL_ALL
        for (std::uint32_t i = 0; i < kChunksAtOnce; ++i) {
            const std::uint32_t chunk = begin + i < end ? begin + i : begin;
            const State s(chunks().state(chunk).load_relaxed());
            some |= std::uint32_t{begin + i < end && s.has_pages() && s.free() > 0} << i;
        }
        return some;
    }
    HEAPWOOD_NOINLINE std::uint64_t scatter_chunk(Context context, std::uint32_t chunk,
                                                  std::uint32_t k) const {
        if constexpr (Policy::kQueuesChunks) {
            return file(context, chunk, k);
        } else {
            std::uint64_t changes = 0;
            const State s(chunks().state(chunk).load_relaxed());
            HEAPWOOD_UNROLL(1)
            for (std::int32_t n = s.free(); n > 0; --n) {
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit == kNone) break;
                ++changes;
                if (queues_.put_entry(context, k, chunk, unit)) continue;
                free_stray(context, k, geometry().shard_of(chunk), unit);
                break;
            }
            return changes;
        }
    }

    Queues<Policy> queues_;
    std::uint32_t* flags_;
};

}  // namespace heapwood::allocators::ouroboros
