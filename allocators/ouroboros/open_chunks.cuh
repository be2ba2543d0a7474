/// @file
/// The chunks of an Ouroboros pool whose pages are given one by one, and how others are opened.
///
/// **Pages.** Beside each queue is the open stretch of chunks side by side, {last chunk + 1, pages
/// given}: one chunk, or as many as have 32 pages (geometry.h). A request takes a page from the
/// queue. If there is none, it takes the next page of the open stretch; if that is used up, a page
/// from another shard's queue, of which it looks at a few; else it opens another stretch. A request
/// opens a chunk of a few pages for itself alone, and the chunk's other pages go to the queue. If
/// there are fewer chunks side by side, these are the end of a stretch.
///
/// **Chunks.** Beside each queue is the current chunk, {chunk + 1}. A request takes a page of it.
/// If it has none, the request replaces it by a chunk from the queue, or by a new one. A chunk that
/// is no longer current is filed (stock.cuh).
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

/// The open chunk of every class and shard, on top of the stock. Owns the `open` words of the
/// queues' controls. Policy: policy.cuh.
template <class Policy>
class OpenChunks {
public:
    OpenChunks() = default;
    explicit OpenChunks(const Stock<Policy>& stock) : stock_(stock) {}

    HEAPWOOD_INLINE const Stock<Policy>& stock() const { return stock_; }
    HEAPWOOD_INLINE const Queues<Policy>& queues() const { return stock_.queues(); }
    HEAPWOOD_INLINE const Chunks<Policy>& chunks() const { return stock_.chunks(); }
    HEAPWOOD_INLINE const Geometry& geometry() const { return stock_.geometry(); }

    /// An open word.
    using Open = std::uint64_t;

    HEAPWOOD_INLINE platform::AtomicRef<Open> word(std::uint32_t k, std::uint32_t shard) const {
        return platform::AtomicRef<Open>(queues().control(k, shard).open);
    }
    HEAPWOOD_INLINE static bool is_chunk(Open w) { return w >> 32 != 0 && w < kOpening; }
    HEAPWOOD_INLINE static std::uint32_t chunk_of(Open w) {
        return static_cast<std::uint32_t>(w >> 32) - 1;
    }

    /// A page of the open chunk, of which w tells; kNone: there is none, or it is used up.
    HEAPWOOD_INLINE std::uint32_t take_opened(const Context& context, std::uint32_t k,
                                              std::uint32_t shard, Open w) const {
        if (!is_chunk(w)) return kNone;
        if constexpr (Policy::kQueuesChunks) {
            // What w is of may be anything by now: chunks are asked with care. Lanes of another
            // class may ask the same one.
            const platform::Lanes lanes(chunks().state(chunk_of(w)), k);
            return stock_.take_page(context, chunk_of(w), k, lanes);
        } else {
            // Only if there is a page: what is added in vain is bounded by the number of threads.
            const std::uint32_t pages = geometry().stretch_pages(k);
            if (given(w) >= pages) return kNone;
            const platform::Lanes lanes(word(k, shard));
            // Acquire: the chunks, from the thread that opened them. They may be later ones by now.
            if (lanes.rank() == 0) w = word(k, shard).add_acquire(lanes.count());
            w = lanes.of_leader(w);
            lanes.sync();  // what the leader has acquired, to all
            const std::uint32_t page = given(w) + lanes.rank();
            if (!is_chunk(w) || page >= pages) return kNone;
            return geometry().unit_of_stretch(chunk_of(w), page, k);
        }
    }

    /// Opens another chunk, if no other thread does. @return a page, or kNone if there is no chunk.
    HEAPWOOD_NOINLINE std::uint32_t open_chunk(Context context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const auto open = word(k, shard);
        if (chunks().are_exhausted() &&
            (!Policy::kQueuesChunks || !queues().has_entries(k, shard))) {
            return kNone;
        }
        // Where openers would come one after the other, every request is one.
        const std::uint32_t pages =
            Policy::kQueuesChunks ? geometry().pages(k) : geometry().stretch_pages(k);
        const unsigned patience = pages <= Policy::kFewPages ? 0 : Policy::kPatience;
        HEAPWOOD_UNROLL(1)
        for (unsigned turn = 0; turn < patience; ++turn) {
            Open w = open.load_relaxed();
            std::uint32_t unit = take_opened(context, k, shard, w);
            if (unit != kNone) return unit;
            Policy::pause();
            if (w < kOpening) {
                // If no thread has changed it, it was this that had no page.
                if (open.cas_relaxed(w, kOpening)) return replace(context, k, shard, w);
                continue;
            }
            if (Policy::kQueuesChunks && turn >= kTurnsOfOpener && queues().has_entries(k, shard)) {
                unit = take_from_queue(context, k, shard);
                if (unit == kNone) continue;
                stock_.file(context, geometry().chunk_of(unit), k);
                return unit;
            }
            platform::back_off(turn);
        }
        return open_for_itself(context, k, shard);
    }
    /// Chunks: a page of the first chunk in the queue that has one; the chunk is out of the queue.
    HEAPWOOD_NOINLINE std::uint32_t take_from_queue(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        HEAPWOOD_UNROLL(1)
        // Thousands of threads that lowered the semaphore in vain would hide what is put meanwhile.
        while (queues().has_entries(k, shard)) {
            const std::uint32_t chunk = queues().take_entry(context, k, shard);
            if (chunk == kNone) return kNone;
            Policy::pause();
            stock_.leave_queue(chunk, k);
            Policy::pause();
            const std::uint32_t unit = stock_.take_page(context, chunk, k);
            if (unit != kNone) return unit;
        }
        return kNone;
    }
    /// Closes the open chunk of a queue, if there is one. @return what it adds to changes().
    HEAPWOOD_NOINLINE std::uint32_t close_open(Context context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const auto open = word(k, shard);
        Open w = open.load_relaxed();
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t n = geometry().stretch_pages(k); n > 0 && is_chunk(w); --n) {
            Policy::pause();
            if (!open.cas_acquire(w, 0)) continue;
            if constexpr (Policy::kQueuesChunks) {
                return close(context, chunk_of(w), k);
            } else {
                HEAPWOOD_UNROLL(1)
                for (std::uint32_t page = given(w); page < geometry().stretch_pages(k); ++page) {
                    stock_.free_page(context, k, geometry().unit_of_stretch(chunk_of(w), page, k));
                }
                return 0;
            }
        }
        return 0;
    }

private:
    /// The open word while a thread replaces what it says.
    static constexpr Open kOpening = ~Open{0} << 32;
    /// How long a request waits for the opener of a chunk before it looks for one in the queue.
    static constexpr unsigned kTurnsOfOpener = 4;

    HEAPWOOD_INLINE static Open make_open(std::uint32_t chunk, std::uint32_t given) {
        return (Open{chunk + 1} << 32) + given;
    }
    HEAPWOOD_INLINE static std::uint32_t given(Open w) { return static_cast<std::uint32_t>(w); }

    /// Opens a chunk in place of the one that `old` tells of. @return as open_chunk().
    HEAPWOOD_NOINLINE std::uint32_t replace(Context context, std::uint32_t k, std::uint32_t shard,
                                            Open old) const {
        if constexpr (Policy::kQueuesChunks) {
            if (is_chunk(old)) close(context, chunk_of(old), k);
        }
        std::uint32_t run = 1U << geometry().stretch_of(k);
        const std::uint32_t unit = first_page(context, k, shard, run);
        Policy::pause();
        Open w = 0;
        if (unit != kNone) {
            const std::uint32_t chunk = geometry().chunk_of(unit);
            if constexpr (Policy::kQueuesChunks) {
                stock_.make_current(chunk);
                w = make_open(chunk, 1);
            } else {
                // As the last `run` chunks of a stretch.
                w = make_open(chunk + run - 1,
                              geometry().stretch_pages(k) - run * geometry().pages(k) + 1);
            }
        }
        // Release: the chunk and its former use, to the threads that take pages of it.
        word(k, shard).store_release(w);
        return unit;
    }
    /// A page of a chunk of which the other pages are free at once, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t open_for_itself(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        std::uint32_t run = 1;
        const std::uint32_t unit = first_page(context, k, shard, run);
        Policy::pause();
        if (unit == kNone) return kNone;
        if constexpr (Policy::kQueuesChunks) {
            stock_.file(context, geometry().chunk_of(unit), k);
        } else {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t page = 1; page < geometry().pages(k); ++page) {
                const std::uint32_t other = unit + (page << k);
                if (!queues().put_entry(context, k, geometry().chunk_of(unit), other)) {
                    stock_.free_stray(context, k, geometry().shard_of(geometry().chunk_of(unit)),
                                      other);
                }
            }
        }
        return unit;
    }

    /// The first page of another chunk, which is the caller's to open. Pages: of a run of `run`
    /// chunks side by side, if there is one. @param run out: the length of the run.
    HEAPWOOD_NOINLINE std::uint32_t first_page(Context context, std::uint32_t k,
                                               std::uint32_t shard, std::uint32_t& run) const {
        std::uint32_t chunk = kNone;
        if constexpr (Policy::kQueuesChunks) {
            const std::uint32_t unit = take_from_queue(context, k, shard);
            if (unit != kNone) return unit;
        } else if (run > 1) {
            chunk = chunks().take_run(context, run);
        }
        if (chunk == kNone) {
            chunk = chunks().take_chunk(context);
            run = 1;
        }
        if (chunk == kNone) return kNone;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < run; ++i) {
            chunks().divide(chunk + i, k, Policy::kQueuesChunks ? 1 : geometry().pages(k));
        }
        return geometry().unit_of(chunk, 0, k);
    }
    /// Chunks: a chunk is current no more.
    HEAPWOOD_NOINLINE std::uint32_t close(Context context, std::uint32_t chunk,
                                          std::uint32_t k) const {
        stock_.end_current(chunk);
        Policy::pause();
        return stock_.file(context, chunk, k);
    }

    Stock<Policy> stock_;
};

}  // namespace heapwood::allocators::ouroboros
