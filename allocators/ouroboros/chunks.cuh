/// @file
/// The chunks of an Ouroboros pool: taken from the circular list behind it, divided into pages of
/// one class, and returned when all their pages are free.
///
/// **What the words mean.** For each chunk:
/// - state = {free pages, class + 1}; class + 1 is 0 while the chunk belongs to the list, or to
///   whoever has got it from there, and kQueueMemory while a queue keeps entries in it. The number
///   is a semaphore: lowered, if it was positive, it is a permit to take a page of that class.
///   Whoever lowers it in vain (it was not, or the class is another) raises it again; so it may be
///   too small for a moment, never too large. All changes but the last one below are additions,
///   which do not undo one another's.
/// - the mask has a bit for each page that is free here: set before the number is raised, cleared
///   with a permit. So there are never fewer bits than permits, and whoever has one finds a bit.
/// - {all pages, class + 1} -> {0, 0} by compare-and-swap takes the whole chunk: nobody has a
///   permit, nor can get one, and all bits are set.
/// A thread that comes late, with a chunk that has another class by now, or none, changes nothing
/// but the number, and that back again.
///
/// **Memory order.** What was done to a page passes on through its bit: set with a release, cleared
/// with an acquire. Whoever takes the whole chunk acquires all of the mask. The mask of a new chunk
/// is written before its state, with a release, and permits are acquires.
///
/// **Progress.** A bit that is lost has been taken by another with a permit. Nobody waits, but for
/// bits whose number is already known to be set to become visible as well.
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

/// The list behind the chunks; a granule of it is a chunk.
struct ListPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
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

/// What kernels see of the chunks. Policy: core.cuh.
template <class Policy>
class Chunks {
public:
    using List = circular::CircularMalloc<ListPolicy>;

    Chunks() = default;
    /// `states` and `masks` have room for all chunks (Geometry::mask_words() each); `states` and
    /// `taken` are zero.
    Chunks(const List& list, const Geometry& geometry, std::uint64_t* states, std::uint32_t* masks,
           std::uint32_t* taken)
        : list_(list.ref()),
          geometry_(geometry),
          pool_(list_.address(0)),
          states_(states),
          masks_(masks),
          taken_(taken) {}

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
    /// How many chunks have been taken and not been returned.
    HEAPWOOD_INLINE std::uint32_t taken() const {
        return platform::AtomicRef<std::uint32_t>(*taken_).load_relaxed();
    }

    /// A chunk for the caller alone, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t take_chunk(Context context) const {
        void* p = list_.allocate(context, std::size_t{1} << geometry_.chunk_shift);
        if (p == nullptr) return kNone;
        platform::AtomicRef<std::uint32_t>(*taken_).count_relaxed(1);
        return geometry_.chunk_of(unit(p));
    }
    HEAPWOOD_NOINLINE void return_chunk(Context context, std::uint32_t chunk) const {
        platform::AtomicRef<std::uint32_t>(*taken_).count_relaxed(0U - 1U);
        list_.deallocate(context, words(chunk), 0);
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
        // Release: the mask, and the pages' former use, to those who get a permit.
        state(chunk).add_release(State::make(pages - first, k + 1));
    }

    /// Takes a page of a chunk if it has class k and a free one. `lost`: what to do about a permit
    /// that had to be given back, as after free_page().
    template <class Lost>
    HEAPWOOD_INLINE std::uint32_t take_page(std::uint32_t chunk, std::uint32_t k,
                                            Lost&& lost) const {
        const State old(state(chunk).sub_acquire(State::kPage));
        if (old.class_field() != k + 1 || old.free() <= 0) {
            Policy::pause();
            lost(State(state(chunk).add_relaxed(State::kPage)));
            return kNone;
        }
        Policy::pause();
        // Of a chunk that is used for the first time, this is a free page.
        const auto guess = static_cast<std::uint32_t>(old.free() - 1);
        const std::uint32_t bit = 1U << (guess % 32);
        const std::uint32_t found = mask(chunk, guess / 32).and_acquire(~bit);
        if ((found & bit) != 0) return guess;
        return find_page(chunk, k, guess / 32, found);
    }

    /// A page of class k is free. @return the state before.
    HEAPWOOD_INLINE State free_page(std::uint32_t chunk, std::uint32_t page) const {
        // Release: whatever was done to the page, to the next one who takes it or the chunk.
        mask(chunk, page / 32).or_release(1U << (page % 32));
        Policy::pause();
        return State(state(chunk).add_relaxed(State::kPage));
    }

    /// Takes a chunk of class k if all its pages are free. @return whether it is the caller's.
    HEAPWOOD_FN bool take_whole(std::uint32_t chunk, std::uint32_t k) const {
        const std::uint32_t pages = geometry_.pages(k);
        std::uint64_t whole = State::make(pages, k + 1);
        if (!state(chunk).cas_relaxed(whole, 0)) return false;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i * 32 < pages; ++i) {
            const std::uint32_t all = pages - i * 32 < 32 ? ~bits_from(pages - i * 32) : ~0U;
            HEAPWOOD_UNROLL(1)
            for (unsigned n = 0; mask(chunk, i).load_acquire() != all; ++n) platform::back_off(n);
        }
        return true;
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
    std::uint32_t* taken_;
};

}  // namespace heapwood::allocators::ouroboros
