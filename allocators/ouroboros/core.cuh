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
/// **Pages.** Beside each queue is the open chunk, {chunk + 1, pages given}. A request takes a page
/// from the queue; if there is none, the next page of the open chunk; if that is used up, it opens
/// another one. (One of a few pages only it opens for itself, and the other pages go to the queue.)
/// A page for which the queue has no room becomes free in its chunk (chunks.cuh).
///
/// **Chunks.** Beside each queue is the current chunk, {chunk + 1}. A request takes a page of it;
/// if there is none, it replaces it by one from the queue, or by a new one. A chunk whose first
/// page becomes free is put into the queue, unless it is there already: a flag for each class says
/// so. It is cleared by whoever takes the chunk out, before he looks for free pages; so whoever
/// sets a page free and finds the flag set knows that somebody will yet look. A chunk all of whose
/// pages are free returns to the list, unless it is current; what is left in queues then is found
/// to be out of date by whoever takes it out.
///
/// **Caches.** The last few pages that a caller has freed stay in its cache, if it has one
/// (cache.cuh), and are given again from there.
///
/// **When the list has no chunk.** Then the request looks into all shards and chunks, and then
/// collects what is free: open chunks are closed, the queues are emptied, every page becomes free
/// in its chunk, and chunks that are whole return to the list, as do the queues' own. The request
/// is tried again, and what is left goes back into the queues. One thread at a time collects;
/// others that are in need wait for it, since it makes only bounded loops of the operations that
/// everybody makes.
///
/// **Who waits for whom.** For a ticket's holder, in queues; for the opener of a chunk, for at most
/// kPatience times, then the request opens one for itself; for the collector. All of these are in
/// the middle of a call, which ends, and none of them waits for one that waits for it: the
/// collector waits for ticket holders only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/cache.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// What a Policy is derived from. It adds `traits()`, `Queue` and kQueuesChunks, as ouroboros.cuh
/// does.
struct DefaultPolicy {
    /// Most entries of the standard queues of a class together: published, for pages. (Published
    /// for chunks: 65 536.) A page that finds no room goes back to its chunk.
    static constexpr std::uint32_t kMostEntries = 8U << 20;
    /// Most parts of the virtual queues of a class together, in arrays: published.
    static constexpr std::uint32_t kMostParts = 16384;
    /// Whether callers' caches keep pages.
    static constexpr bool kCaches = true;
    /// A chunk with at most so many pages is opened for one request; the others are free at once.
    static constexpr std::uint32_t kFewPages = 4;
    /// How often a request waits for the opener of a chunk.
    static constexpr unsigned kPatience = 256;
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The handle that kernels use.
template <class Policy>
class Core {
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
            const std::uint32_t unit = chunks_.unit(p);
            if (CachedPage::fits(unit)) {
                const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
                const CachedPage out = PageCache(*context.cache).put(CachedPage(k, unit));
                if (out.is_page()) free_unit(context, out.page_class(), out.unit());
                return;
            }
        }
        deallocate_uncached(context, p, bytes);
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > geometry().largest_page()) return chunks_.list().granted_bytes(p, bytes);
        return std::uint64_t{1} << (geometry().class_of(static_cast<std::uint32_t>(bytes)) +
                                    geometry().unit_shift);
    }

    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        const PageCache cache(*context.cache);
        HEAPWOOD_UNROLL(1)
        for (CachedPage p = cache.take_any(); p.is_page(); p = cache.take_any()) {
            free_unit(context, p.page_class(), p.unit());
        }
    }

private:
    template <class>
    friend class Pool;

    using Open = std::uint64_t;

    /// The open word while somebody replaces what it says.
    static constexpr Open kOpening = ~Open{0} << 32;
    /// Of a chunk's flags, bit k says that it is in the queue of class k.
    static constexpr std::uint32_t kCurrent = 1U << 31;

    HEAPWOOD_INLINE const Geometry& geometry() const { return chunks_.geometry(); }
    HEAPWOOD_INLINE Control& control(std::uint32_t k, std::uint32_t shard) const {
        return controls_[geometry().queue(k, shard)];
    }
    HEAPWOOD_INLINE platform::AtomicRef<Open> open(std::uint32_t k, std::uint32_t shard) const {
        return platform::AtomicRef<Open>(control(k, shard).open);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> flags(std::uint32_t chunk) const {
        return platform::AtomicRef<std::uint32_t>(flags_[chunk]);
    }
    HEAPWOOD_INLINE static Open make_open(std::uint32_t chunk, std::uint32_t given) {
        return (Open{chunk + 1} << 32) + given;
    }
    HEAPWOOD_INLINE static bool is_chunk(Open w) { return w >> 32 != 0 && w < kOpening; }
    HEAPWOOD_INLINE static std::uint32_t chunk_of(Open w) {
        return static_cast<std::uint32_t>(w >> 32) - 1;
    }
    HEAPWOOD_INLINE static std::uint32_t given(Open w) { return static_cast<std::uint32_t>(w); }

    // What a cache does not answer is out of line, for one copy of it is less to fetch than
    // several, and takes contexts by value, so that callers' need not lie in memory.

    HEAPWOOD_NOINLINE void* allocate_uncached(Context context, std::size_t bytes) const {
        if (bytes - 1 >= geometry().largest_page()) return allocate_large(context, bytes);
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t shard = geometry().home_of(context.multiprocessor);
        std::uint32_t unit =
            Policy::kQueuesChunks ? take_opened(context, k, shard) : take_entry(context, k, shard);
        if (unit == kNone) unit = open_chunk(context, k, shard);
        if (unit == kNone) unit = allocate_at_last(context, k, shard);
        return unit == kNone ? nullptr : chunks_.address(unit);
    }
    HEAPWOOD_NOINLINE void deallocate_uncached(Context context, void* p, std::size_t bytes) const {
        if (bytes > geometry().largest_page()) {
            chunks_.list().deallocate(context, p, 0);
        } else {
            free_unit(context, geometry().class_of(static_cast<std::uint32_t>(bytes)),
                      chunks_.unit(p));
        }
    }
    /// A page is free: for a queue, or in its chunk.
    HEAPWOOD_NOINLINE void free_unit(Context context, std::uint32_t k, std::uint32_t unit) const {
        if constexpr (Policy::kQueuesChunks) {
            free_page(context, k, unit);
        } else if (!put_entry(context, k, geometry().chunk_of(unit), unit)) {
            free_page_of_full_queue(context, k, unit);
        }
    }
    HEAPWOOD_NOINLINE void free_page_of_full_queue(Context context, std::uint32_t k,
                                                   std::uint32_t unit) const {
        free_page(context, k, unit);
    }

    // ---------------------------------------------------------------- queues and pages

    HEAPWOOD_INLINE std::uint32_t take_entry(const Context& context, std::uint32_t k,
                                             std::uint32_t shard) const {
        return queue_.take(chunks_, context, control(k, shard), k, shard);
    }
    /// Puts a chunk, or a page of it, into its queue. @return false: there is no room.
    HEAPWOOD_INLINE bool put_entry(const Context& context, std::uint32_t k, std::uint32_t chunk,
                                   std::uint32_t entry) const {
        const std::uint32_t shard = geometry().shard_of(chunk);
        return queue_.put(chunks_, context, control(k, shard), k, shard, entry);
    }
    HEAPWOOD_INLINE std::uint32_t take_page(const Context& context, std::uint32_t chunk,
                                            std::uint32_t k) const {
        const std::uint32_t page =
            chunks_.take_page(chunk, k, [&](State before) { raised(context, chunk, before); });
        return page == kNone ? kNone : geometry().unit_of(chunk, page, k);
    }
    HEAPWOOD_INLINE void free_page(const Context& context, std::uint32_t k,
                                   std::uint32_t unit) const {
        const std::uint32_t chunk = geometry().chunk_of(unit);
        raised(context, chunk, chunks_.free_page(chunk, geometry().page_of(unit, k)));
    }
    /// A chunk has a free page more than it had.
    HEAPWOOD_INLINE void raised(const Context& context, std::uint32_t chunk, State before) const {
        if (!before.has_pages()) return;
        const std::uint32_t k = before.class_field() - 1;
        const auto pages = static_cast<std::int32_t>(geometry().pages(k));
        if (before.free() + 1 == pages || (Policy::kQueuesChunks && before.free() == 0)) {
            file(context, chunk, k);
        }
    }

    /// Returns a chunk of class k that is whole, and keeps one with free pages in its queue.
    HEAPWOOD_NOINLINE void file(Context context, std::uint32_t chunk, std::uint32_t k) const {
        const State now(chunks_.state(chunk).load_relaxed());
        if (now.class_field() != k + 1) return;
        if (now.free() == static_cast<std::int32_t>(geometry().pages(k)) &&
            (!Policy::kQueuesChunks || (flags(chunk).add_acq_rel(0) & kCurrent) == 0) &&
            chunks_.take_whole(chunk, k)) {
            chunks_.return_chunk(context, chunk);
        } else if (Policy::kQueuesChunks && now.free() > 0 &&
                   // Release: what is free, to whoever clears the flag.
                   (flags(chunk).or_acq_rel(1U << k) >> k & 1U) == 0) {
            Policy::pause();
            if (!put_entry(context, k, chunk, chunk)) flags(chunk).and_acq_rel(~(1U << k));
        }
    }

    // ---------------------------------------------------------------- open chunks

    /// A page of the open chunk; kNone: there is none, or it is used up.
    HEAPWOOD_INLINE std::uint32_t take_opened(const Context& context, std::uint32_t k,
                                              std::uint32_t shard) const {
        Open w = open(k, shard).load_acquire();
        if (!is_chunk(w)) return kNone;
        if constexpr (Policy::kQueuesChunks) {
            return take_page(context, chunk_of(w), k);
        } else {
            // Only if there is a page: so what it adds in vain is bounded by the threads.
            if (given(w) >= geometry().pages(k)) return kNone;
            // Acquire: the chunk, from who opened it. It may be a later one by now.
            w = open(k, shard).add_acquire(1);
            if (!is_chunk(w) || given(w) >= geometry().pages(k)) return kNone;
            return geometry().unit_of(chunk_of(w), given(w), k);
        }
    }

    /// Opens another chunk, if nobody else does. @return a page, or kNone if there is no chunk.
    HEAPWOOD_NOINLINE std::uint32_t open_chunk(Context context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const auto word = open(k, shard);
        // Where openers would come one after the other, everybody is one.
        const unsigned patience = geometry().pages(k) <= Policy::kFewPages ? 0 : Policy::kPatience;
        HEAPWOOD_UNROLL(1)
        for (unsigned turn = 0; turn < patience; ++turn) {
            Open w = word.load_relaxed();
            const std::uint32_t unit = take_opened(context, k, shard);
            if (unit != kNone) return unit;
            Policy::pause();
            if (w >= kOpening) {
                platform::back_off(turn);
            } else if (word.cas_relaxed(w, kOpening)) {
                // Nobody has changed it, so it was this that had no page.
                return replace(context, k, shard, w);
            }
        }
        return replace(context, k, shard, kOpening);
    }
    /// Opens a chunk in place of the one that `old` tells of; for this request only, if it has run
    /// out of patience with who does so. @return as open_chunk().
    HEAPWOOD_NOINLINE std::uint32_t replace(Context context, std::uint32_t k, std::uint32_t shard,
                                            Open old) const {
        const auto word = open(k, shard);
        if constexpr (Policy::kQueuesChunks) {
            if (is_chunk(old)) close(context, chunk_of(old), k);
        }
        const std::uint32_t unit = first_page(context, k, shard);
        const std::uint32_t chunk = geometry().chunk_of(unit);
        Policy::pause();
        if (old == kOpening) {
            if (unit == kNone) return kNone;
            if constexpr (Policy::kQueuesChunks) {
                file(context, chunk, k);
            } else {
                free_pages(context, chunk, k, 1);
            }
        } else if (unit == kNone) {
            word.store_relaxed(0);
        } else {
            if constexpr (Policy::kQueuesChunks) flags(chunk).or_acq_rel(kCurrent);
            // Release: the chunk and its former use, to those who take pages of it.
            word.store_release(make_open(chunk, 1));
        }
        return unit;
    }

    /// The first page of another chunk, which is the caller's to open.
    HEAPWOOD_NOINLINE std::uint32_t first_page(Context context, std::uint32_t k,
                                               std::uint32_t shard) const {
        if constexpr (Policy::kQueuesChunks) {
            const std::uint32_t unit = take_from_queue(context, k, shard);
            if (unit != kNone) return unit;
        }
        const std::uint32_t chunk = chunks_.take_chunk(context);
        if (chunk == kNone) return kNone;
        chunks_.divide(chunk, k, Policy::kQueuesChunks ? 1 : geometry().pages(k));
        return geometry().unit_of(chunk, 0, k);
    }

    /// Pages: frees those of an own chunk from `first` on.
    HEAPWOOD_NOINLINE void free_pages(Context context, std::uint32_t chunk, std::uint32_t k,
                                      std::uint32_t first) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t page = first; page < geometry().pages(k); ++page) {
            free_unit(context, k, geometry().unit_of(chunk, page, k));
        }
    }

    /// Chunks: a page of the first chunk in the queue that has one; the chunk is out of the queue.
    HEAPWOOD_NOINLINE std::uint32_t take_from_queue(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        HEAPWOOD_UNROLL(1)
        for (;;) {
            const std::uint32_t chunk = take_entry(context, k, shard);
            if (chunk == kNone) return kNone;
            Policy::pause();
            // Acquire: what was free when somebody found the flag set.
            flags(chunk).and_acq_rel(~(1U << k));
            Policy::pause();
            const std::uint32_t unit = take_page(context, chunk, k);
            if (unit != kNone) return unit;
        }
    }
    /// Chunks: a chunk is current no more.
    HEAPWOOD_NOINLINE void close(Context context, std::uint32_t chunk, std::uint32_t k) const {
        flags(chunk).and_acq_rel(~kCurrent);
        Policy::pause();
        file(context, chunk, k);
    }

    // ---------------------------------------------------------------- rare requests

    /// A page of class k when the list has no chunk, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t allocate_at_last(Context context, std::uint32_t k,
                                                     std::uint32_t shard) const {
        std::uint32_t unit = take_anywhere(context, k, shard);
        if (unit != kNone || chunks_.taken() == 0) return unit;
        const bool collects = begin_collection(context);
        unit = open_chunk(context, k, shard);
        if (unit == kNone) unit = take_anywhere(context, k, shard);
        if (collects) end_collection(context);
        return unit;
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > std::uint64_t{geometry().chunks} << geometry().chunk_shift) {
            return nullptr;
        }
        void* p = chunks_.list().allocate(context, bytes);
        if (p != nullptr || chunks_.taken() == 0) return p;
        const bool collects = begin_collection(context);
        p = chunks_.list().allocate(context, bytes);
        if (collects) end_collection(context);
        return p;
    }

    /// A page of class k from any shard's queue or open chunk, or of any chunk.
    HEAPWOOD_NOINLINE std::uint32_t take_anywhere(Context context, std::uint32_t k,
                                                  std::uint32_t home) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t shard = 0; shard < geometry().shards; ++shard) {
            std::uint32_t unit = kNone;
            if constexpr (Policy::kQueuesChunks) {
                unit = take_from_queue(context, k, shard);
                if (unit != kNone) file(context, geometry().chunk_of(unit), k);
            } else {
                unit = take_entry(context, k, shard);
            }
            if (unit == kNone) unit = take_opened(context, k, shard);
            if (unit != kNone) return unit;
        }
        std::uint32_t chunk = home << geometry().shard_shift;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t n = 0; n < geometry().chunks; ++n) {
            const State s(chunks_.state(chunk).load_relaxed());
            if (s.class_field() == k + 1 && s.free() > 0) {
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit != kNone) return unit;
            }
            if (++chunk == geometry().chunks) chunk = 0;
        }
        return kNone;
    }

    // ---------------------------------------------------------------- collecting

    /// Collects what is free; or waits until another thread has done so from beginning to end. The
    /// collections' number is odd during one. @return whether the caller is to end it.
    HEAPWOOD_NOINLINE bool begin_collection(Context context) const {
        const platform::AtomicRef<std::uint32_t> collections(*collections_);
        std::uint32_t now = collections.load_acquire();
        const std::uint32_t enough = (now + 3) & ~1U;
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; static_cast<std::int32_t>(now - enough) < 0;) {
            if ((now & 1U) == 0) {
                if (!collections.cas_acq_rel(now, now + 1)) continue;
                gather(context);
                return true;
            }
            platform::back_off(n++);
            now = collections.load_acquire();
        }
        return false;
    }
    HEAPWOOD_NOINLINE void end_collection(Context context) const {
        scatter(context);
        platform::AtomicRef<std::uint32_t>(*collections_).add_release(1);
    }

    /// Closes the open chunks, then empties the queues: a chunk that is current is not whole.
    HEAPWOOD_NOINLINE void gather(Context context) const {
        flush(context);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            close_open(context, queue % geometry().classes, queue / geometry().classes);
        }
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            const std::uint32_t k = queue % geometry().classes;
            const std::uint32_t shard = queue / geometry().classes;
            Control& c = controls_[queue];
            const std::uint32_t filled =
                platform::AtomicRef<std::uint32_t>(c.filled).load_relaxed();
            HEAPWOOD_UNROLL(1)
            for (auto n = static_cast<std::int32_t>(filled); n > 0; --n) {
                const std::uint32_t entry = take_entry(context, k, shard);
                if (entry == kNone) break;
                if constexpr (Policy::kQueuesChunks) {
                    flags(entry).and_acq_rel(~(1U << k));
                    file(context, entry, k);
                } else {
                    free_page(context, k, entry);
                }
            }
            queue_.trim(chunks_, context, c, queue);
        }
    }
    HEAPWOOD_NOINLINE void close_open(Context context, std::uint32_t k, std::uint32_t shard) const {
        const auto word = open(k, shard);
        Open w = word.load_relaxed();
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t n = geometry().pages(k); n > 0 && is_chunk(w); --n) {
            Policy::pause();
            if (!word.cas_acquire(w, 0)) continue;
            if constexpr (Policy::kQueuesChunks) {
                close(context, chunk_of(w), k);
            } else {
                HEAPWOOD_UNROLL(1)
                for (std::uint32_t page = given(w); page < geometry().pages(k); ++page) {
                    free_page(context, k, geometry().unit_of(chunk_of(w), page, k));
                }
            }
            return;
        }
    }
    /// Puts what is free in chunks into the queues.
    HEAPWOOD_NOINLINE void scatter(Context context) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t chunk = 0; chunk < geometry().chunks; ++chunk) {
            const State s(chunks_.state(chunk).load_relaxed());
            if (!s.has_pages() || s.free() <= 0) continue;
            const std::uint32_t k = s.class_field() - 1;
            if constexpr (Policy::kQueuesChunks) {
                file(context, chunk, k);
            } else {
                HEAPWOOD_UNROLL(1)
                for (std::int32_t n = s.free(); n > 0; --n) {
                    const std::uint32_t unit = take_page(context, chunk, k);
                    if (unit == kNone) break;
                    if (put_entry(context, k, chunk, unit)) continue;
                    free_page(context, k, unit);
                    break;
                }
            }
        }
    }

    Chunks<Policy> chunks_;
    typename Policy::template Queue<Policy> queue_;
    Control* controls_;
    std::uint32_t* flags_;
    std::uint32_t* collections_;
    std::uint32_t largest_cached_;  // bytes
};

}  // namespace heapwood::allocators::ouroboros
