/// @file
/// The chunks of an Ouroboros pool: taken from the circular list behind it, divided into pages of
/// one class, and returned when all their pages are free.
///
/// **What the words mean.** For each chunk:
/// - state = {free pages, class + 1}; class + 1 is 0 while the chunk belongs to the list, or to the
///   thread that has got it from there, and kQueueMemory while a queue keeps entries in it. The
///   number is a semaphore: lowered, if it was positive, it is a permit to take a page of that
///   class. A thread that lowers it in vain (it was not positive, or the class is another) raises
///   it again; so it may be too small for a moment, never too large. All changes but the last one
///   below are additions, which do not undo one another's.
/// - the mask has a bit for each page that is free here: set before the number is raised, cleared
///   with a permit. So there are never fewer bits than permits, and a thread that has a permit
///   finds a bit.
/// - {all pages, class + 1} -> {0, 0} by compare-and-swap takes the whole chunk: no thread has a
///   permit, nor can get one, and all bits are set.
/// A thread that comes late, with a chunk that has another class by now, or none, changes nothing
/// but the number, and that back again.
///
/// **Memory order.** What was done to a page passes on through its bit: set with a release, cleared
/// with an acquire. The thread that takes the whole chunk acquires the state, whose number every
/// free raises with a release: the mask alone would not do, for a word of it that is all ones may
/// be an old one. The mask of a new chunk is written before its state, with a release, and permits
/// are acquires.
///
/// **Progress.** A bit that a thread loses has been taken by another thread with a permit. No
/// thread waits for another, but only until bits that are set become visible.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// No page, chunk or entry.
inline constexpr std::uint32_t kNone = 0xffffffffU;

/// The class field of a chunk that holds the entries of a queue.
inline constexpr std::uint32_t kQueueMemory = 0xff;

/// A chunk's state.
class State {
public:
    static constexpr std::uint64_t kPage = std::uint64_t{1} << 32;

    HEAPWOOD_INLINE static std::uint64_t make(std::uint32_t free, std::uint32_t class_field) {
        return (std::uint64_t{free} << 32) + class_field;
    }
    HEAPWOOD_INLINE explicit State(std::uint64_t word) : word_(word) {}
    HEAPWOOD_INLINE std::int32_t free() const { return static_cast<std::int32_t>(word_ >> 32); }
    /// Of pages: the class plus 1.
    HEAPWOOD_INLINE std::uint32_t class_field() const { return static_cast<std::uint32_t>(word_); }
    HEAPWOOD_INLINE bool has_pages() const {
        return class_field() != 0 && class_field() != kQueueMemory;
    }

private:
    std::uint64_t word_;
};

/// What is known of the list behind the chunks. Zero at first.
struct alignas(64) ListWords {
    std::uint64_t changes;  ///< how often it has given a block, or got one back
    std::uint64_t empty;    ///< `changes` before a search that found no chunk, plus 1
    std::uint32_t taken;    ///< chunks that it has given and not got back
    std::uint32_t no_runs;  ///< 1: there were no chunks side by side
};

/// The list behind the chunks; a granule of it is a chunk.
struct ListPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
    /// Always split: what is left of a run of chunks would be no chunk, and lost.
    static constexpr std::uint32_t kMaxFragmentation = 1;
    static constexpr std::uint32_t kSmallestShare = 16;
    static constexpr std::uint32_t kSmallestStretch = 4;
    static constexpr Traits traits() {
        return {.name = "ouroboros",
                .title = "Ouroboros",
                .source = "",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = 1U << kSmallestChunkShift};
    }
};

/// What kernels see of the chunks. Policy: policy.cuh.
template <class Policy>
class Chunks {
public:
    using List = circular::CircularMalloc<ListPolicy>;

    Chunks() = default;
    /// `states` and `masks` have room for all chunks (Geometry::mask_words() each); `states` and
    /// `words` are zero.
    Chunks(const List& list, const Geometry& geometry, std::uint64_t* states, std::uint32_t* masks,
           ListWords* words)
        : list_(list.ref()),
          geometry_(geometry),
          pool_(list_.address(0)),
          states_(states),
          masks_(masks),
          words_(words) {}

    HEAPWOOD_INLINE const Geometry& geometry() const { return geometry_; }
    HEAPWOOD_INLINE const typename List::Ref& list() const { return list_; }
    HEAPWOOD_INLINE char* address(std::uint32_t unit) const {
        return pool_ + (std::uint64_t{unit} << geometry_.unit_shift);
    }
    HEAPWOOD_INLINE std::uint32_t unit(const void* p) const {
        return static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >>
            geometry_.unit_shift);
    }
    HEAPWOOD_INLINE std::uint32_t* words(std::uint32_t chunk) const {
        return reinterpret_cast<std::uint32_t*>(pool_ +
                                                (std::uint64_t{chunk} << geometry_.chunk_shift));
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint64_t> state(std::uint32_t chunk) const {
        return platform::AtomicRef<std::uint64_t>(states_[chunk]);
    }
    /// The bytes of the page that begins at p, in a block that is in use; 0: none does.
    HEAPWOOD_INLINE std::uint64_t known_bytes(const void* p) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_);
        const auto chunk = static_cast<std::uint32_t>(offset >> geometry_.chunk_shift);
        // Relaxed: the class stays as it is while one of the pages is in use. A large block has
        // none.
        const State now(state(chunk).load_relaxed());
        if (!now.has_pages()) return 0;
        const std::uint64_t page = std::uint64_t{1}
                                   << (now.class_field() - 1 + geometry_.unit_shift);
        return (offset & (page - 1)) == 0 ? page : 0;
    }
    /// How many chunks have been taken and not been returned.
    HEAPWOOD_INLINE std::uint32_t taken() const {
        return platform::AtomicRef<std::uint32_t>(words_->taken).load_relaxed();
    }
    /// A number that grows whenever a block is taken from the list or returned. Acquire: what had
    /// been returned.
    HEAPWOOD_INLINE std::uint64_t changes() const {
        return platform::AtomicRef<std::uint64_t>(words_->changes).load_acquire();
    }
    /// Whether a search of the whole list has found no chunk, and nothing has changed since. Such a
    /// search takes milliseconds, so that one thread's outcome serves all.
    HEAPWOOD_INLINE bool are_exhausted() const {
        const std::uint64_t empty =
            platform::AtomicRef<std::uint64_t>(words_->empty).load_relaxed();
        return changes() + 1 == empty;
    }

    /// A chunk for the caller alone, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t take_chunk(Context context) const {
        void* p = take_block(context, std::size_t{1} << geometry_.chunk_shift);
        if (p == nullptr) return kNone;
        platform::AtomicRef<std::uint32_t>(words_->taken).count_relaxed(1);
        return geometry_.chunk_of(unit(p));
    }
    /// The first of `count` chunks side by side, or kNone. Tried until there are none.
    HEAPWOOD_NOINLINE std::uint32_t take_run(Context context, std::uint32_t count) const {
        const platform::AtomicRef<std::uint32_t> no_runs(words_->no_runs);
        if (no_runs.load_relaxed() != 0) return kNone;
        void* p = list_.allocate_run(context, std::size_t{1} << geometry_.chunk_shift, count);
        if (p == nullptr) {
            no_runs.store_relaxed(1);
            return kNone;
        }
        platform::AtomicRef<std::uint64_t>(words_->changes).count_relaxed(1);
        platform::AtomicRef<std::uint32_t>(words_->taken).count_relaxed(count);
        return geometry_.chunk_of(unit(p));
    }
    /// Chunks side by side may have been returned.
    HEAPWOOD_INLINE void allow_runs() const {
        platform::AtomicRef<std::uint32_t>(words_->no_runs).store_relaxed(0);
    }
    HEAPWOOD_NOINLINE void return_chunk(Context context, std::uint32_t chunk) const {
        platform::AtomicRef<std::uint32_t>(words_->taken).count_relaxed(0U - 1U);
        return_block(context, words(chunk));
    }
    /// A block of the list, of at least a chunk's size, or nullptr.
    HEAPWOOD_FN void* take_block(const Context& context, std::size_t bytes) const {
        const platform::AtomicRef<std::uint64_t> empty(words_->empty);
        const std::uint64_t known = empty.load_relaxed();
        const std::uint64_t before = changes();
        if (known == before + 1) return nullptr;
        bool full = false;
        void* p = list_.allocate(context, bytes, full);
        if (p != nullptr) {
            platform::AtomicRef<std::uint64_t>(words_->changes).count_relaxed(1);
        } else if (full && bytes <= std::size_t{1} << geometry_.chunk_shift) {
            // If other threads have changed something meanwhile, this says nothing about now, nor
            // does the word.
            empty.store_relaxed(before + 1);
        }
        return p;
    }
    HEAPWOOD_FN void return_block(const Context& context, void* p) const {
        list_.deallocate(context, p, 0);
        count_change();
    }
    /// Release: what has been returned, to threads that search again.
    HEAPWOOD_INLINE void count_change() const {
        platform::AtomicRef<std::uint64_t>(words_->changes).add_release(1);
    }

    /// Makes an own chunk one of class k. Its pages from `first` on are free, the others the
    /// caller's.
    HEAPWOOD_FN void divide(std::uint32_t chunk, std::uint32_t k, std::uint32_t first) const {
        const std::uint32_t pages = geometry_.pages(k);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i * 32 < pages; ++i) {
            const std::uint32_t end = pages - i * 32 < 32 ? pages - i * 32 : 32;
            const std::uint32_t begin = first <= i * 32 ? 0 : first - i * 32;
            mask(chunk, i).store_relaxed(begin < end ? bits_from(begin) & ~bits_from(end) : 0);
        }
        Policy::pause();
        // Release: the mask, and the pages' former use, to threads that get a permit.
        state(chunk).add_release(State::make(pages - first, k + 1));
    }

    /// Takes a page of a chunk for each lane of a group, if it has class k and that many free ones.
    /// `lost`: what to do about permits that had to be given back, as after free_page().
    /// @return this lane's, or kNone.
    template <class Group, class Lost>
    HEAPWOOD_INLINE std::uint32_t take_page(std::uint32_t chunk, std::uint32_t k,
                                            const Group& group, Lost&& lost) const {
        const std::uint32_t all = group.count();
        std::uint32_t got = 0;
        std::uint32_t free = 0;
        if (group.rank() == 0) {
            const State old(state(chunk).sub_acquire(State::kPage * all));
            if (old.class_field() == k + 1 && old.free() > 0) {
                free = static_cast<std::uint32_t>(old.free());
                got = free < all ? free : all;
            }
            Policy::pause();
            if (got < all) {
                lost(State(state(chunk).add_relaxed(State::kPage * (all - got))), all - got);
            }
            Policy::pause();
        }
        got = group.of_leader(got);
        if (got == 0) return kNone;
        free = group.of_leader(free);
        group.sync();  // what the leader has acquired, to all
        if (group.rank() >= got) return kNone;
        // Of a chunk that is used for the first time, this is a free page.
        const std::uint32_t guess = free - 1 - group.rank();
        const std::uint32_t bit = 1U << (guess % 32);
        const std::uint32_t found = mask(chunk, guess / 32).and_acquire(~bit);
        if ((found & bit) != 0) return guess;
        return find_page(chunk, k, guess / 32, found);
    }

    /// A page of class k is free. @return the state before.
    HEAPWOOD_INLINE State free_page(std::uint32_t chunk, std::uint32_t page) const {
        // Release: whatever was done to the page, to the next thread that takes it.
        mask(chunk, page / 32).set_release(1U << (page % 32));
        Policy::pause();
        // Release as well: to the thread that takes the whole chunk, which may see an old mask.
        return State(state(chunk).add_release(State::kPage));
    }

    /// Takes a chunk of class k if all its pages are free. @return whether it is the caller's.
    HEAPWOOD_FN bool take_whole(std::uint32_t chunk, std::uint32_t k) const {
        std::uint64_t whole = State::make(geometry_.pages(k), k + 1);
        // Acquire: from all threads that freed a page, so that all bits of the mask are there.
        return state(chunk).cas_acquire(whole, 0);
    }

private:
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> mask(std::uint32_t chunk,
                                                            std::uint32_t i) const {
        return platform::AtomicRef<std::uint32_t>(
            masks_[static_cast<std::size_t>(chunk) * geometry_.mask_words() + i]);
    }
    /// Bit n and all above; n <= 32.
    HEAPWOOD_INLINE static std::uint32_t bits_from(std::uint32_t n) {
        return n == 32 ? 0 : ~0U << n;
    }

    /// A page for the permit that the caller has. `found`: what word i of the mask was just now.
    HEAPWOOD_NOINLINE std::uint32_t find_page(std::uint32_t chunk, std::uint32_t k, std::uint32_t i,
                                              std::uint32_t found) const {
        const std::uint32_t words = platform::ceil_div(geometry_.pages(k), 32U);
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0;;) {
            HEAPWOOD_UNROLL(1)
            while (found != 0) {
                const std::uint32_t bit = found & (0U - found);
                Policy::pause();
                found = mask(chunk, i).and_acquire(~bit);
                if ((found & bit) != 0) return i * 32 + platform::floor_log2(bit);
            }
            i = i + 1 < words ? i + 1 : 0;
            if (i == 0) platform::back_off(n++);
            found = mask(chunk, i).load_relaxed();
        }
    }

    typename List::Ref list_;
    Geometry geometry_;
    char* pool_;
    std::uint64_t* states_;
    std::uint32_t* masks_;
    ListWords* words_;
};

}  // namespace heapwood::allocators::ouroboros
