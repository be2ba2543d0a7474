/// @file
/// The chunks of an Ouroboros pool whose pages are given one by one, and how others are opened.
///
/// **Pages.** Beside each queue is the open stretch of chunks side by side, {last chunk + 1, pages
/// given}; one chunk, or so many that they have 32 pages (geometry.h). A request takes a page from
/// the queue; if there is none, the next page of the open stretch; if that is used up, one from
/// another shard's queue, of which it looks at a few; else it opens another stretch. (One of a few
/// pages only it opens for itself, and the other pages go to the queue.) If there are fewer chunks
/// side by side, these are the end of a stretch. A page for which the queue has no room becomes
/// free in its chunk (chunks.cuh): it is a stray.
///
/// **Chunks.** Beside each queue is the current chunk, {chunk + 1}. A request takes a page of it;
/// if there is none, it replaces it by one from the queue, or by a new one. A chunk whose first
/// page becomes free is put into the queue, unless it is there already: a flag for each class says
/// so. (If there is no room, it is a stray as well.) It is cleared by whoever takes the chunk out,
/// before he looks for free pages; so whoever sets a page free and finds the flag set knows that
/// somebody will yet look. A chunk all of whose pages are free returns to the list, unless it is
/// current; what is left in queues then is found to be out of date by whoever takes it out.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/stock.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// What is free, and the open chunk of every class and shard. Policy: core.cuh.
template <class Policy>
class OpenChunks : public Stock<Policy> {
    using Base = Stock<Policy>;

protected:
    using Base::chunks_;
    using Base::control;
    using Base::file;
    using Base::flags;
    using Base::free_page;
    using Base::free_stray;
    using Base::geometry;
    using Base::has_entries;
    using Base::kCurrent;
    using Base::put_entry;
    using Base::take_entry;
    using Base::take_page;

    using Open = std::uint64_t;

    /// The open word while somebody replaces what it says.
    static constexpr Open kOpening = ~Open{0} << 32;
    /// How long a request waits for the opener of a chunk before it looks for one in the queue.
    static constexpr unsigned kTurnsOfOpener = 4;

    HEAPWOOD_INLINE platform::AtomicRef<Open> open(std::uint32_t k, std::uint32_t shard) const {
        return platform::AtomicRef<Open>(control(k, shard).open);
    }
    HEAPWOOD_INLINE static Open make_open(std::uint32_t chunk, std::uint32_t given) {
        return (Open{chunk + 1} << 32) + given;
    }
    HEAPWOOD_INLINE static bool is_chunk(Open w) { return w >> 32 != 0 && w < kOpening; }
    HEAPWOOD_INLINE static std::uint32_t chunk_of(Open w) {
        return static_cast<std::uint32_t>(w >> 32) - 1;
    }
    HEAPWOOD_INLINE static std::uint32_t given(Open w) { return static_cast<std::uint32_t>(w); }

    /// A page of the open chunk, of which w tells; kNone: there is none, or it is used up.
    HEAPWOOD_INLINE std::uint32_t take_opened(const Context& context, std::uint32_t k,
                                              std::uint32_t shard, Open w) const {
        if (!is_chunk(w)) return kNone;
        if constexpr (Policy::kQueuesChunks) {
            // What w is of may be anything by now: chunks are asked with care.
            return take_page(context, chunk_of(w), k, platform::Lanes(chunk_of(w)));
        } else {
            // Only if there is a page: so what it adds in vain is bounded by the threads.
            const std::uint32_t pages = geometry().stretch_pages(k);
            if (given(w) >= pages) return kNone;
            const platform::Lanes lanes(geometry().queue(k, shard));
            // Acquire: the chunks, from who opened them. They may be later ones by now.
            if (lanes.rank() == 0) w = open(k, shard).add_acquire(lanes.count());
            w = lanes.of_leader(w);
            lanes.sync();  // what the leader has acquired, to all
            const std::uint32_t page = given(w) + lanes.rank();
            if (!is_chunk(w) || page >= pages) return kNone;
            return geometry().unit_of_stretch(chunk_of(w), page, k);
        }
    }

    /// Opens another chunk, if nobody else does. @return a page, or kNone if there is no chunk.
    HEAPWOOD_NOINLINE std::uint32_t open_chunk(Context context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const auto word = open(k, shard);
        if (chunks_.are_exhausted() &&
            (!Policy::kQueuesChunks || !has_entries(control(k, shard)))) {
            return kNone;
        }
        // Where openers would come one after the other, everybody is one.
        const std::uint32_t pages =
            Policy::kQueuesChunks ? geometry().pages(k) : geometry().stretch_pages(k);
        const unsigned patience = pages <= Policy::kFewPages ? 0 : Policy::kPatience;
        HEAPWOOD_UNROLL(1)
        for (unsigned turn = 0; turn < patience; ++turn) {
            Open w = word.load_relaxed();
            std::uint32_t unit = take_opened(context, k, shard, w);
            if (unit != kNone) return unit;
            Policy::pause();
            if (w < kOpening) {
                // If nobody has changed it, it was this that had no page.
                if (word.cas_relaxed(w, kOpening)) return replace(context, k, shard, w);
                continue;
            }
            if (Policy::kQueuesChunks && turn >= kTurnsOfOpener && has_entries(control(k, shard))) {
                unit = take_from_queue(context, k, shard);
                if (unit == kNone) continue;
                file(context, geometry().chunk_of(unit), k);
                return unit;
            }
            platform::back_off(turn);
        }
        return open_for_itself(context, k, shard);
    }
    /// Opens a chunk in place of the one that `old` tells of. @return as open_chunk().
    HEAPWOOD_NOINLINE std::uint32_t replace(Context context, std::uint32_t k, std::uint32_t shard,
                                            Open old) const {
        if constexpr (Policy::kQueuesChunks) {
            if (is_chunk(old)) close(context, chunk_of(old), k);
        }
        std::uint32_t chunks = 1U << geometry().stretch_of(k);
        const std::uint32_t unit = first_page(context, k, shard, chunks);
        Policy::pause();
        Open w = 0;
        if (unit != kNone) {
            const std::uint32_t chunk = geometry().chunk_of(unit);
            if constexpr (Policy::kQueuesChunks) {
                flags(chunk).or_acq_rel(kCurrent);
                w = make_open(chunk, 1);
            } else {
                // As the last `chunks` ones of a stretch.
                w = make_open(chunk + chunks - 1,
                              geometry().stretch_pages(k) - chunks * geometry().pages(k) + 1);
            }
        }
        // Release: the chunk and its former use, to those who take pages of it.
        open(k, shard).store_release(w);
        return unit;
    }
    /// A page of a chunk of which the other pages are free at once, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t open_for_itself(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        std::uint32_t chunks = 1;
        const std::uint32_t unit = first_page(context, k, shard, chunks);
        Policy::pause();
        if (unit == kNone) return kNone;
        if constexpr (Policy::kQueuesChunks) {
            file(context, geometry().chunk_of(unit), k);
        } else {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t page = 1; page < geometry().pages(k); ++page) {
                const std::uint32_t other = unit + (page << k);
                if (!put_entry(context, k, geometry().chunk_of(unit), other)) {
                    free_stray(context, k, geometry().shard_of(geometry().chunk_of(unit)), other);
                }
            }
        }
        return unit;
    }

    /// The first page of another chunk, which is the caller's to open; or, pages, of `chunks` side
    /// by side, if there are so many. @param chunks how many the caller has got.
    HEAPWOOD_NOINLINE std::uint32_t first_page(Context context, std::uint32_t k,
                                               std::uint32_t shard, std::uint32_t& chunks) const {
        std::uint32_t chunk = kNone;
        if constexpr (Policy::kQueuesChunks) {
            const std::uint32_t unit = take_from_queue(context, k, shard);
            if (unit != kNone) return unit;
        } else if (chunks > 1) {
            chunk = chunks_.take_run(context, chunks);
        }
        if (chunk == kNone) {
            chunk = chunks_.take_chunk(context);
            chunks = 1;
        }
        if (chunk == kNone) return kNone;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < chunks; ++i) {
            chunks_.divide(chunk + i, k, Policy::kQueuesChunks ? 1 : geometry().pages(k));
        }
        return geometry().unit_of(chunk, 0, k);
    }

    /// Chunks: a page of the first chunk in the queue that has one; the chunk is out of the queue.
    HEAPWOOD_NOINLINE std::uint32_t take_from_queue(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        HEAPWOOD_UNROLL(1)
        // Thousands that lowered the semaphore in vain would hide what is put meanwhile.
        while (has_entries(control(k, shard))) {
            const std::uint32_t chunk = take_entry(context, k, shard);
            if (chunk == kNone) return kNone;
            Policy::pause();
            // Acquire: what was free when somebody found the flag set.
            flags(chunk).and_acq_rel(~(1U << k));
            Policy::pause();
            const std::uint32_t unit = take_page(context, chunk, k);
            if (unit != kNone) return unit;
        }
        return kNone;
    }
    /// Chunks: a chunk is current no more.
    HEAPWOOD_NOINLINE std::uint32_t close(Context context, std::uint32_t chunk,
                                          std::uint32_t k) const {
        flags(chunk).and_acq_rel(~kCurrent);
        Policy::pause();
        return file(context, chunk, k);
    }
    /// Closes the open chunk of a queue, if there is one. @return what it adds to changes().
    HEAPWOOD_NOINLINE std::uint32_t close_open(Context context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const auto word = open(k, shard);
        Open w = word.load_relaxed();
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t n = geometry().stretch_pages(k); n > 0 && is_chunk(w); --n) {
            Policy::pause();
            if (!word.cas_acquire(w, 0)) continue;
            if constexpr (Policy::kQueuesChunks) {
                return close(context, chunk_of(w), k);
            } else {
                HEAPWOOD_UNROLL(1)
                for (std::uint32_t page = given(w); page < geometry().stretch_pages(k); ++page) {
                    free_page(context, k, geometry().unit_of_stretch(chunk_of(w), page, k));
                }
                return 0;
            }
        }
        return 0;
    }
};

}  // namespace heapwood::allocators::ouroboros
