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
/// another one. A page for which the queue has no room becomes free in its chunk (chunks.cuh).
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
/// **When the list has no chunk.** Then the request looks into all shards, and then collects what
/// is free: open chunks are closed, the queues are emptied, every page becomes free in its chunk,
/// and chunks that are whole return to the list, as do the queues' own. The request is tried again,
/// and what is left goes back into the queues. One thread at a time collects; others that are in
/// need wait for it, since it makes only bounded loops of the operations that everybody makes.
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
        if (bytes - 1 >= geometry().largest_page()) return allocate_large(context, bytes);
        const std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        std::uint32_t unit = kNone;
        if (has_cache(context, k)) unit = PageCache(*context.cache).take(k);
        if (unit != kNone) return chunks_.address(unit);
        const std::uint32_t shard = geometry().home_of(context.multiprocessor);
        if constexpr (Policy::kQueuesChunks) {
            const std::uint64_t w = open(k, shard).load_relaxed();
            if (is_chunk(w)) unit = take_page(context, chunk_of(w), k);
        } else {
            unit = take_entry(context, k, shard);
        }
        if (unit == kNone) unit = allocate_slowly(context, k, shard);
        return unit == kNone ? nullptr : chunks_.address(unit);
    }

    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > geometry().largest_page()) {
            free_large(context, p);
            return;
        }
        std::uint32_t k = geometry().class_of(static_cast<std::uint32_t>(bytes));
        std::uint32_t unit = chunks_.unit(p);
        if (has_cache(context, k) && CachedPage::fits(k, unit)) {
            const CachedPage page = PageCache(*context.cache).put(CachedPage(k, unit));
            if (!page.is_page()) return;
            k = page.page_class();
            unit = page.unit();
        }
        free_unit(context, k, unit);
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

    HEAPWOOD_INLINE bool has_cache(const Context& context, std::uint32_t k) const {
        return k < cached_classes_ && context.cache != nullptr;
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
    /// A page is free: for a queue, or in its chunk.
    HEAPWOOD_INLINE void free_unit(const Context& context, std::uint32_t k,
                                   std::uint32_t unit) const {
        if (Policy::kQueuesChunks || !put_entry(context, k, geometry().chunk_of(unit), unit)) {
            free_page(context, k, unit);
        }
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

    /// Replaces what the queue's open word says. @return a page, or kNone if there is no chunk.
    HEAPWOOD_FN std::uint32_t open_chunk(const Context& context, std::uint32_t k,
                                         std::uint32_t shard) const {
        const auto word = open(k, shard);
        for (unsigned turn = 0; turn < Policy::kPatience; ++turn) {
            Open w = word.load_acquire();
            if (w >= kOpening) {
                platform::back_off(turn);
                continue;
            }
            if (is_chunk(w)) {
                const std::uint32_t unit = take_open(context, word, w, k);
                if (unit != kNone) return unit;
            }
            Policy::pause();
            if (!word.cas_relaxed(w, kOpening)) continue;
            if constexpr (Policy::kQueuesChunks) {
                if (is_chunk(w)) close(context, chunk_of(w), k);
            }
            const std::uint32_t unit = first_page(context, k, shard);
            Policy::pause();
            if (unit == kNone) {
                word.store_relaxed(0);
                return kNone;
            }
            const std::uint32_t chunk = geometry().chunk_of(unit);
            if constexpr (Policy::kQueuesChunks) flags(chunk).or_acq_rel(kCurrent);
            // Release: the chunk and its former use, to those who take pages of it.
            word.store_release(make_open(chunk, 1));
            return unit;
        }
        const std::uint32_t unit = first_page(context, k, shard);
        if (unit != kNone) {
            const std::uint32_t chunk = geometry().chunk_of(unit);
            if constexpr (Policy::kQueuesChunks) {
                file(context, chunk, k);
            } else {
                free_pages(context, chunk, k, 1);
            }
        }
        return unit;
    }

    /// A page of the open chunk that `seen` told of, or of a later one; kNone: it is used up.
    HEAPWOOD_INLINE std::uint32_t take_open(const Context& context, platform::AtomicRef<Open> word,
                                            Open seen, std::uint32_t k) const {
        if constexpr (Policy::kQueuesChunks) {
            return take_page(context, chunk_of(seen), k);
        } else {
            // Only if there is a page: so what it adds in vain is bounded by the threads.
            if (given(seen) >= geometry().pages(k)) return kNone;
            // Acquire: the chunk, from who opened it.
            seen = word.add_acquire(1);
            if (!is_chunk(seen) || given(seen) >= geometry().pages(k)) return kNone;
            return geometry().unit_of(chunk_of(seen), given(seen), k);
        }
    }

    /// The first page of another chunk, which is the caller's to open.
    HEAPWOOD_FN std::uint32_t first_page(const Context& context, std::uint32_t k,
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
    HEAPWOOD_FN void free_pages(const Context& context, std::uint32_t chunk, std::uint32_t k,
                                std::uint32_t first) const {
        for (std::uint32_t page = first; page < geometry().pages(k); ++page) {
            free_unit(context, k, geometry().unit_of(chunk, page, k));
        }
    }

    /// Chunks: a page of the first chunk in the queue that has one; the chunk is out of the queue.
    HEAPWOOD_FN std::uint32_t take_from_queue(const Context& context, std::uint32_t k,
                                              std::uint32_t shard) const {
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
    HEAPWOOD_FN void close(const Context& context, std::uint32_t chunk, std::uint32_t k) const {
        flags(chunk).and_acq_rel(~kCurrent);
        Policy::pause();
        file(context, chunk, k);
    }

    // ---------------------------------------------------------------- rare requests

    HEAPWOOD_NOINLINE std::uint32_t allocate_slowly(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        std::uint32_t unit = open_chunk(context, k, shard);
        if (unit == kNone) unit = take_anywhere(context, k);
        if (unit != kNone || chunks_.taken() == 0) return unit;
        collect(context, [&] {
            unit = open_chunk(context, k, shard);
            if (unit == kNone) unit = take_anywhere(context, k);
            if (unit == kNone) unit = take_from_chunks(context, k);
            return unit != kNone;
        });
        return unit;
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > std::uint64_t{geometry().chunks} << geometry().chunk_shift) {
            return nullptr;
        }
        void* p = chunks_.list().allocate(context, bytes);
        if (p != nullptr || chunks_.taken() == 0) return p;
        collect(context, [&] {
            p = chunks_.list().allocate(context, bytes);
            return p != nullptr;
        });
        return p;
    }
    HEAPWOOD_NOINLINE void free_large(Context context, void* p) const {
        chunks_.list().deallocate(context, p, 0);
    }

    /// A page of class k from any shard's queue or open chunk.
    HEAPWOOD_FN std::uint32_t take_anywhere(const Context& context, std::uint32_t k) const {
        for (std::uint32_t shard = 0; shard < geometry().shards; ++shard) {
            std::uint32_t unit = kNone;
            if constexpr (Policy::kQueuesChunks) {
                unit = take_from_queue(context, k, shard);
                if (unit != kNone) file(context, geometry().chunk_of(unit), k);
            } else {
                unit = take_entry(context, k, shard);
            }
            if (unit != kNone) return unit;
            const auto word = open(k, shard);
            const Open w = word.load_acquire();
            if (is_chunk(w)) unit = take_open(context, word, w, k);
            if (unit != kNone) return unit;
        }
        return kNone;
    }
    /// A page of class k from any chunk.
    HEAPWOOD_FN std::uint32_t take_from_chunks(const Context& context, std::uint32_t k) const {
        for (std::uint32_t chunk = 0; chunk < geometry().chunks; ++chunk) {
            const State s(chunks_.state(chunk).load_relaxed());
            if (s.class_field() != k + 1 || s.free() <= 0) continue;
            const std::uint32_t unit = take_page(context, chunk, k);
            if (unit != kNone) return unit;
        }
        return kNone;
    }

    // ---------------------------------------------------------------- collecting

    /// Collects what is free, then tries a request again; or waits until another thread has done so
    /// from beginning to end. The collections' number is odd during one.
    template <class Request>
    HEAPWOOD_FN void collect(const Context& context, Request&& request) const {
        const platform::AtomicRef<std::uint32_t> collections(*collections_);
        std::uint32_t now = collections.load_acquire();
        const std::uint32_t enough = (now + 3) & ~1U;
        for (unsigned n = 0; static_cast<std::int32_t>(now - enough) < 0;) {
            if ((now & 1U) == 0) {
                if (!collections.cas_acq_rel(now, now + 1)) continue;
                gather(context);
                request();
                scatter(context);
                collections.store_release(now + 2);
                return;
            }
            platform::back_off(n++);
            now = collections.load_acquire();
        }
        request();
    }

    /// Closes the open chunks, then empties the queues: a chunk that is current is not whole.
    HEAPWOOD_NOINLINE void gather(Context context) const {
        flush(context);
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            close_open(context, queue % geometry().classes, queue / geometry().classes);
        }
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            const std::uint32_t k = queue % geometry().classes;
            const std::uint32_t shard = queue / geometry().classes;
            Control& c = controls_[queue];
            const std::uint32_t filled =
                platform::AtomicRef<std::uint32_t>(c.filled).load_relaxed();
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
    HEAPWOOD_FN void close_open(const Context& context, std::uint32_t k,
                                std::uint32_t shard) const {
        const auto word = open(k, shard);
        Open w = word.load_relaxed();
        for (std::uint32_t n = geometry().pages(k); n > 0 && is_chunk(w); --n) {
            Policy::pause();
            if (!word.cas_acquire(w, 0)) continue;
            if constexpr (Policy::kQueuesChunks) {
                close(context, chunk_of(w), k);
            } else {
                for (std::uint32_t page = given(w); page < geometry().pages(k); ++page) {
                    free_page(context, k, geometry().unit_of(chunk_of(w), page, k));
                }
            }
            return;
        }
    }
    /// Puts what is free in chunks into the queues.
    HEAPWOOD_NOINLINE void scatter(Context context) const {
        for (std::uint32_t chunk = 0; chunk < geometry().chunks; ++chunk) {
            const State s(chunks_.state(chunk).load_relaxed());
            if (!s.has_pages() || s.free() <= 0) continue;
            const std::uint32_t k = s.class_field() - 1;
            if constexpr (Policy::kQueuesChunks) {
                file(context, chunk, k);
            } else {
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
    std::uint32_t cached_classes_;
};

}  // namespace heapwood::allocators::ouroboros
