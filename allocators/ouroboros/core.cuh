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
///
/// **Caches.** The last few pages that a caller has freed stay in its cache, if it has one
/// (cache.cuh), and are given again from there.
///
/// **Lanes.** The lanes of a warp that ask for the same class at the same time, or free pages for
/// the same queue, form a group (platform/lanes.cuh): its leader lowers the semaphore and draws the
/// tickets for all, each lane accesses its own place, and the leader raises the other semaphore
/// when all have done so. Which lanes form a group makes no difference: the leader's operations are
/// those of n lanes one after the other, with nobody in between, which could have happened as well;
/// what it acquires passes to the others by sync(); and no lane waits in a place for a member of
/// its group, for all of these have their tickets, and access their places, before they meet again.
/// If there is less than the group asked for, the lowest lanes get it.
///
/// **When the list has no chunk.** Then the request looks into all shards, and then collects what
/// is free: open stretches are closed, the queues are emptied, every page becomes free in its
/// chunk, and chunks that are whole return to the list, as do the queues' own. The request is tried
/// again, and what is left goes back into the queues. One thread at a time collects; others that
/// are in need wait for it, since it makes only bounded loops of the operations that everybody
/// makes.
///
/// **When there is nothing to be had.** A search of the list, or a collection, takes milliseconds,
/// and thousands may ask at once. So who has found nothing writes down how much had changed before
/// (Chunks::changes(), changes()): numbers that grow with everything that is freed, and more.
/// Until they have grown, others are refused at once. A collection changes them itself, by puts and
/// takes that it counts; if others do so meanwhile, what it writes down is not what there is, and
/// the next request collects again. So in a pool in which nothing else goes on nullptr is exact.
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
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
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
    /// Into how many shards' queues of pages a request looks before it opens a chunk.
    static constexpr std::uint32_t kNeighbours = 8;
    /// A chunk with at most so many pages is opened for one request; the others are free at once.
    static constexpr std::uint32_t kFewPages = 4;
    /// How often a request waits for the opener of a chunk, or for who makes room in a queue.
    static constexpr unsigned kPatience = 256;
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// What is known of collections. Zero at first.
struct alignas(64) Collections {
    std::uint32_t number;   ///< twice their number; odd during one
    std::uint64_t in_vain;  ///< what says that the last one was, see Core::make_vain()
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

    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        const PageCache cache(*context.cache);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t k = 0; k < PageCache::kClasses; ++k) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t unit = cache.take(k); unit != kNone; unit = cache.take(k)) {
                free_unit(context, k, unit);
            }
        }
    }

private:
    template <class>
    friend class Pool;

    using Open = std::uint64_t;

    /// The open word while somebody replaces what it says.
    static constexpr Open kOpening = ~Open{0} << 32;
    /// How long a request waits for the opener of a chunk before it looks for one in the queue.
    static constexpr unsigned kTurnsOfOpener = 4;
    /// How many chunks' states are looked at together.
    static constexpr std::uint32_t kChunksAtOnce = 8;
    static constexpr std::uint32_t kQueuesAtOnce = 16;
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
        std::uint32_t unit = take_nearby_or_open(context, k, shard);
        if (unit == kNone) unit = allocate_at_last(context, k, shard);
        return unit == kNone ? nullptr : chunks_.address(unit);
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
    /// A page is free: for a queue, or in its chunk.
    HEAPWOOD_NOINLINE void free_unit(Context context, std::uint32_t k, std::uint32_t unit) const {
        if constexpr (Policy::kQueuesChunks) {
            free_page(context, k, unit);
        } else {
            const std::uint32_t shard = geometry().shard_of(geometry().chunk_of(unit));
            const platform::Lanes lanes(geometry().queue(k, shard));
            if (!queue_.put(chunks_, context, control(k, shard), k, shard, lanes, unit)) {
                free_stray(context, k, shard, unit);
            }
        }
    }

    // ---------------------------------------------------------------- queues and pages

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
        return queue_.put(chunks_, context, control(k, shard), k, shard, platform::Alone(), entry);
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

    // ---------------------------------------------------------------- open chunks

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
                free_unit(context, k, unit + (page << k));
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

    // ---------------------------------------------------------------- rare requests

    /// A page of class k when the list has no chunk, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t allocate_at_last(Context context, std::uint32_t k,
                                                     std::uint32_t shard) const {
        std::uint32_t unit = take_anywhere(context, k);
        if (unit != kNone || chunks_.taken() == 0) return unit;
        std::uint64_t expected = 0;
        const Collection collection = begin_collection(context, 1, expected);
        if (collection == Collection::in_vain) return kNone;
        unit = open_chunk(context, k, shard);
        if (unit == kNone) {
            unit = collection == Collection::own ? take_stray(context, k, 0, geometry().chunks)
                                                 : take_anywhere(context, k);
        }
        if (collection == Collection::own) end_collection(context, 1, expected, unit != kNone);
        return unit;
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > std::uint64_t{geometry().chunks} << geometry().chunk_shift) {
            return nullptr;
        }
        void* p = chunks_.take_block(context, bytes);
        if (p != nullptr || chunks_.taken() == 0) return p;
        const auto wanted = static_cast<std::uint32_t>((bytes - 1) >> geometry().chunk_shift) + 1;
        std::uint64_t expected = 0;
        const Collection collection = begin_collection(context, wanted, expected);
        if (collection == Collection::in_vain) return nullptr;
        p = chunks_.take_block(context, bytes);
        if (collection == Collection::own) end_collection(context, wanted, expected, p != nullptr);
        return p;
    }

    /// A page of class k from any shard's queue or open chunk, or a stray one.
    HEAPWOOD_NOINLINE std::uint32_t take_anywhere(Context context, std::uint32_t k) const {
        const platform::Lanes lanes(k);
        std::uint64_t shards = lanes.rank() == 0 ? shards_with_pages(k) : 0;
        shards = lanes.of_leader(shards);
        HEAPWOOD_UNROLL(1)
        for (; shards != 0; shards &= shards - 1) {
            const std::uint32_t unit =
                take_from_shard(context, k, platform::floor_log2(shards & (0 - shards)));
            if (unit != kNone) return unit;
        }
        return kNone;
    }
    /// Bit i tells whether shard i may have a page of class k.
    HEAPWOOD_NOINLINE std::uint64_t shards_with_pages(std::uint32_t k) const {
        static_assert(kMostShards <= 64);
        std::uint64_t shards = 0;
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t shard = 0; shard < geometry().shards; ++shard) {
            Control& c = control(k, shard);
            const Open w = platform::AtomicRef<Open>(c.open).load_relaxed();
            const bool stray = platform::AtomicRef<std::uint32_t>(c.strays).load_relaxed() !=
                               platform::AtomicRef<std::uint32_t>(c.searched).load_relaxed();
            shards |= std::uint64_t{has_entries(c) || is_chunk(w) || stray} << shard;
        }
        return shards;
    }
    HEAPWOOD_INLINE static bool has_entries(Control& c) {
        return static_cast<std::int32_t>(
                   platform::AtomicRef<std::uint32_t>(c.filled).load_relaxed()) > 0;
    }
    HEAPWOOD_NOINLINE std::uint32_t take_from_shard(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        std::uint32_t unit = kNone;
        if constexpr (Policy::kQueuesChunks) {
            unit = take_from_queue(context, k, shard);
            if (unit != kNone) {
                file(context, geometry().chunk_of(unit), k);
                return unit;
            }
            const Open w = open(k, shard).load_relaxed();
            if (is_chunk(w) && State(chunks_.state(chunk_of(w)).load_relaxed()).free() > 0) {
                unit = take_page(context, chunk_of(w), k);
            }
        } else {
            unit = take_entry(context, k, shard);
            if (unit != kNone) return unit;
            unit = take_opened(context, k, shard, open(k, shard).load_relaxed());
        }
        if (unit != kNone) return unit;
        const platform::AtomicRef<std::uint32_t> searched(control(k, shard).searched);
        const std::uint32_t strays =
            platform::AtomicRef<std::uint32_t>(control(k, shard).strays).load_acquire();
        if (strays == searched.load_relaxed()) return kNone;
        const std::uint32_t begin = shard << geometry().shard_shift;
        const std::uint32_t end = begin + (1U << geometry().shard_shift);
        unit = take_stray(context, k, begin, end < geometry().chunks ? end : geometry().chunks);
        if (unit == kNone) searched.store_relaxed(strays);
        return unit;
    }
    /// A page of any of the chunks from `begin` on before `end` that has one of class k.
    HEAPWOOD_NOINLINE std::uint32_t take_stray(Context context, std::uint32_t k,
                                               std::uint32_t begin, std::uint32_t end) const {
        HEAPWOOD_UNROLL(1)
        for (; begin < end; begin += kChunksAtOnce) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t some = with_free_pages(begin, end); some != 0; some &= some - 1) {
                const std::uint32_t chunk = begin + platform::floor_log2(some & (0 - some));
                if (State(chunks_.state(chunk).load_relaxed()).class_field() != k + 1) continue;
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit != kNone) return unit;
            }
        }
        return kNone;
    }
    /// Bit i tells whether chunk begin + i, before `end`, has free pages.
    HEAPWOOD_INLINE std::uint32_t with_free_pages(std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t some = 0;
        HEAPWOOD_UNROLL_ALL
        for (std::uint32_t i = 0; i < kChunksAtOnce; ++i) {
            const std::uint32_t chunk = begin + i < end ? begin + i : begin;
            const State s(chunks_.state(chunk).load_relaxed());
            some |= std::uint32_t{begin + i < end && s.has_pages() && s.free() > 0} << i;
        }
        return some;
    }

    // ---------------------------------------------------------------- collecting

    /// Who has collected what is free: the caller, who is to end that; another thread, from
    /// beginning to end; or, earlier, one whose collection was no use, and nothing has changed
    /// since.
    enum class Collection { own, another, in_vain };

    /// Grows whenever something is freed, or taken from a queue or the list.
    HEAPWOOD_NOINLINE std::uint64_t changes() const {
        std::uint64_t sum = chunks_.changes();
        const std::uint32_t queues = geometry().shards * geometry().classes;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < queues; queue += kQueuesAtOnce) {
            // All loads first, for each takes a GPU the better part of a microsecond.
            std::uint64_t counts[3 * kQueuesAtOnce];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kQueuesAtOnce; ++i) {
                Control& c = controls_[queue + i < queues ? queue + i : queue];
                counts[3 * i] = platform::AtomicRef<std::uint64_t>(c.front).load_relaxed();
                counts[3 * i + 1] = platform::AtomicRef<std::uint64_t>(c.back).load_relaxed();
                counts[3 * i + 2] = platform::AtomicRef<std::uint32_t>(c.strays).load_relaxed();
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kQueuesAtOnce; ++i) {
                if (queue + i < queues)
                    sum += counts[3 * i] + counts[3 * i + 1] + counts[3 * i + 2];
            }
        }
        return sum;
    }
    /// What says that a collection for so many chunks was in vain: {changes, chunks}.
    HEAPWOOD_INLINE static std::uint64_t make_vain(std::uint64_t changes, std::uint32_t chunks) {
        return (changes << 16) | (chunks < 0xffffU ? chunks : 0xffffU);
    }
    HEAPWOOD_NOINLINE bool would_be_in_vain(std::uint32_t wanted) const {
        const platform::Lanes lanes(wanted);
        std::uint32_t answer = 0;
        if (lanes.rank() == 0) {
            const std::uint64_t vain =
                platform::AtomicRef<std::uint64_t>(collections_->in_vain).load_acquire();
            answer = vain != 0 && (vain & 0xffffU) <= wanted && vain >> 16 == changes() << 16 >> 16;
        }
        return lanes.of_leader(answer) != 0;
    }

    /// Collects what is free; or waits until another thread has done so from beginning to end. The
    /// collections' number is odd during one. `wanted`: chunks. `expected`: of an own collection,
    /// what changes() is if nobody else changes anything.
    HEAPWOOD_NOINLINE Collection begin_collection(Context context, std::uint32_t wanted,
                                                  std::uint64_t& expected) const {
        const platform::AtomicRef<std::uint32_t> number(collections_->number);
        std::uint32_t now = number.load_acquire();
        const std::uint32_t enough = (now + 3) & ~1U;
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; static_cast<std::int32_t>(now - enough) < 0;) {
            if ((now & 1U) == 0) {
                if (would_be_in_vain(wanted)) return Collection::in_vain;
                if (!number.cas_acq_rel(now, now + 1)) continue;
                flush(context);
                expected = changes();
                expected += gather(context);
                return Collection::own;
            }
            platform::back_off(n++);
            now = number.load_acquire();
        }
        return Collection::another;
    }
    HEAPWOOD_NOINLINE void end_collection(Context context, std::uint32_t wanted,
                                          std::uint64_t expected, bool of_use) const {
        expected += scatter(context);
        if (of_use) {
            chunks_.allow_runs();
        } else if (wanted < 0xffffU) {
            platform::AtomicRef<std::uint64_t>(collections_->in_vain)
                .store_release(make_vain(expected, wanted));
        }
        platform::AtomicRef<std::uint32_t>(collections_->number).add_release(1);
    }

    /// Closes the open chunks, then empties the queues: a chunk that is current is not whole.
    /// @return what it adds to changes(), or less if it is of use.
    HEAPWOOD_NOINLINE std::uint64_t gather(Context context) const {
        std::uint64_t changes = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            changes += close_open(context, queue % geometry().classes, queue / geometry().classes);
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
                ++changes;
                if constexpr (Policy::kQueuesChunks) {
                    flags(entry).and_acq_rel(~(1U << k));
                    changes += file(context, entry, k);
                } else {
                    free_page(context, k, entry);
                }
            }
            queue_.trim(chunks_, context, c, queue);
        }
        return changes;
    }
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
    /// Puts what is free in chunks into the queues. @return what it adds to changes().
    HEAPWOOD_NOINLINE std::uint64_t scatter(Context context) const {
        std::uint64_t changes = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t begin = 0; begin < geometry().chunks; begin += kChunksAtOnce) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t some = with_free_pages(begin, geometry().chunks); some != 0;
                 some &= some - 1) {
                const std::uint32_t chunk = begin + platform::floor_log2(some & (0 - some));
                const State s(chunks_.state(chunk).load_relaxed());
                if (s.has_pages()) changes += scatter_chunk(context, chunk, s.class_field() - 1);
            }
        }
        return changes;
    }
    HEAPWOOD_NOINLINE std::uint64_t scatter_chunk(Context context, std::uint32_t chunk,
                                                  std::uint32_t k) const {
        if constexpr (Policy::kQueuesChunks) {
            return file(context, chunk, k);
        } else {
            std::uint64_t changes = 0;
            const State s(chunks_.state(chunk).load_relaxed());
            HEAPWOOD_UNROLL(1)
            for (std::int32_t n = s.free(); n > 0; --n) {
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit == kNone) break;
                ++changes;
                if (put_entry(context, k, chunk, unit)) continue;
                free_stray(context, k, geometry().shard_of(chunk), unit);
                break;
            }
            return changes;
        }
    }

    Chunks<Policy> chunks_;
    typename Policy::template Queue<Policy> queue_;
    Control* controls_;
    std::uint32_t* flags_;
    Collections* collections_;
    std::uint32_t largest_cached_;  // bytes
};

}  // namespace heapwood::allocators::ouroboros
