/// @file
/// The part of Halloc that runs in kernels: heads from which requests draw tickets of slabs
/// (slabs.cuh). halloc.cuh says what it is made of and after whom.
///
/// **The counter does not overflow.** It goes on above the last ticket as long as requests find the
/// head used up. But each of these replaces the slab, which sets it back, or has found the lock
/// taken and a piece elsewhere; so it takes 2^30 of them while one thread is between two steps.
///
/// **Progress.** Nobody waits for long. Of those who find a head used up, one replaces it, under a
/// lock that is a hint only; the others try the class's other heads meanwhile, and after kPatience
/// pauses go on without the lock, each with a slab of its own: so many that they might use up the
/// list, wherefore that takes milliseconds, as only a thread that does not run makes them. All
/// searches are bounded. When the list has nothing left, any closed slab of the class with a free
/// piece will do; else idle heads, of which no piece is in use, are closed and returned, for a new
/// slab or a large request. A request is refused when all that has yielded nothing while no other
/// thread held a slab of the class that it was about to publish or to close; or after kRounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/halloc/classes.cuh"
#include "allocators/halloc/slabs.cuh"
#include "allocators/halloc/words.cuh"
#include "allocators/parts/apart.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::halloc {

/// The handle that kernels use.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        HeadWord drawn = kNoSlab;
        if (bytes - 1 < small_ && !Policy::is_crowded()) {
            const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
            drawn = word(heads_[head_of(context.multiprocessor, k)]).add_acquire(1);
            const auto ticket = static_cast<std::uint32_t>(drawn);
            if (ticket < slabs_.capacity(k)) return slabs_.piece(slab_of(drawn), ticket, k);
        }
        return allocate_slowly(context, bytes, drawn);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > small_ || Policy::is_crowded()) return deallocate_slowly(context, p, bytes);
        const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
        slabs_.give_back(context, slabs_.mark_free(p, k), 1);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > small_) return slabs_.pool().granted_bytes(p, bytes);
        return SizeClass::of(static_cast<std::uint32_t>(bytes)).bytes();
    }
    /// For heaps: heap/known_blocks.cuh.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const { return slabs_.known_bytes(p); }
    HEAPWOOD_FN std::size_t largest_known() const { return small_; }

private:
    friend class BasicHalloc<Policy>;

    using State = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE static platform::AtomicRef<HeadWord> word(Head& head) {
        return platform::AtomicRef<HeadWord>(head.word);
    }
    HEAPWOOD_INLINE std::uint32_t head_of(std::uint32_t number, SizeClass k) const {
        return k.number() * (head_mask_ + 1) + (number & head_mask_);
    }

    /// What the leader of a group passes, with all that it has acquired.
    HEAPWOOD_INLINE static HeadWord of_leader(const platform::Lanes& lanes, HeadWord w) {
        w = lanes.of_leader(w);
        lanes.sync();
        return w;
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// Of many lanes that are here with pieces of the same slab, one counts them all.
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes) const {
        if (bytes > small_) return slabs_.pool().deallocate(context, p, bytes);
        const std::uint32_t slab =
            slabs_.mark_free(p, SizeClass::of(static_cast<std::uint32_t>(bytes)));
        const platform::Lanes lanes(slabs_.state(slab));
        lanes.sync();
        if (lanes.rank() == 0) slabs_.give_back(context, slab, lanes.count());
    }

    /// `drawn`: the head when a ticket was drawn, which has not been used yet; kNoSlab: there is
    /// none, or many lanes are here, of which one draws for all that have the same head.
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes,
                                            HeadWord drawn) const {
        if (bytes == 0) return nullptr;
        if (bytes > small_) return allocate_large(context, bytes);
        const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t own = head_of(context.multiprocessor, k);
        if (drawn == kNoSlab) {
            const platform::Lanes lanes(word(heads_[own]));
            if (lanes.rank() == 0) drawn = word(heads_[own]).add_acquire(lanes.count());
            drawn = of_leader(lanes, drawn) + lanes.rank();
        }
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            if (void* p = use(context, drawn, k)) return p;
            const platform::Lanes lanes(word(heads_[own]));
            if (lanes.rank() == 0) drawn = supply(context, heads_[own], k, lanes.count());
            drawn = of_leader(lanes, drawn);
            if (drawn == kNoSlab) break;
            drawn += lanes.rank();
        }
        return allocate_from_rest(context, k);
    }
    HEAPWOOD_FN void* allocate_large(const Context& context, std::size_t bytes) const {
        for (bool again = false;; again = true) {
            void* p = slabs_.pool().allocate(apart(context), bytes);
            if (p != nullptr || again || !close_idle(context)) return p;
        }
    }

    /// Uses a ticket, if it is one. nullptr: it is none, or others have been quicker.
    HEAPWOOD_FN void* use(const Context& context, HeadWord drawn, SizeClass k) const {
        if (tickets_left(drawn, slabs_.capacity(k)) == 0) return nullptr;
        const auto ticket = static_cast<std::uint32_t>(drawn);
        if (ticket < kSearched) return slabs_.piece(slab_of(drawn), ticket, k);
        return slabs_.search(context, slab_of(drawn), ticket - kSearched, k);
    }
    /// Draws n tickets, of which the first is one, or none. @return the head, or kNoSlab.
    HEAPWOOD_FN HeadWord draw(Head& from, SizeClass k, std::uint32_t n) const {
        const std::uint32_t capacity = slabs_.capacity(k);
        if (tickets_left(word(from).load_relaxed(), capacity) == 0) return kNoSlab;
        Policy::pause();
        const HeadWord drawn = word(from).add_acquire(n);
        return tickets_left(drawn, capacity) > 0 ? drawn : kNoSlab;
    }

    /// Draws n tickets, of which the first is one, and sees to it that there are some. kNoSlab:
    /// there is no slab to be had.
    HEAPWOOD_NOINLINE HeadWord supply(Context context, Head& own, SizeClass k,
                                      std::uint32_t n) const {
        const State lock(own.locked);
        for (std::uint32_t attempt = 0;; ++attempt) {
            // Of the own head, and another one.
            HeadWord drawn = draw(own, k, n);
            if (drawn != kNoSlab) return drawn;
            std::uint32_t open = 0;
            const bool locked = lock.load_relaxed() == 0 && lock.cas_relaxed(open, 1);
            if (locked || attempt == Policy::kPatience) {
                drawn = replace(context, own, k, n);
                if (locked) lock.store_relaxed(0);
                return drawn;
            }
            drawn = draw(heads_[head_of(context.multiprocessor + 1 + attempt, k)], k, n);
            if (drawn != kNoSlab) return drawn;
            platform::back_off(attempt);
        }
    }

    /// Gives a head a slab with tickets, and draws the first n. kNoSlab: there was none.
    HEAPWOOD_FN HeadWord replace(const Context& context, Head& own, SizeClass k,
                                 std::uint32_t n) const {
        const HeadWord drawn = draw(own, k, n);
        if (drawn != kNoSlab) return drawn;
        const HeadWord old = word(own).exchange_acq_rel(kNoSlab);
        Policy::pause();
        HeadWord next = renewed(context, old, k);
        bool full;
        if (Policy::kRoomyFirst && next == kNoSlab) next = reopened(k);
        if (next == kNoSlab) next = slabs_.fresh(context, k, full);
        if (!Policy::kRoomyFirst && next == kNoSlab) next = reopened(k);
        return publish(context, own, next, k, n);
    }
    /// When the list has no slab left. nullptr: the class is full, and the pool as well.
    ///
    /// All tickets that there are are drawn, all slabs whose tickets have been used up are closed,
    /// and all closed slabs of the class are looked at. If that yields nothing while others hold a
    /// slab that they are about to open or to close, it says nothing, and is done again.
    HEAPWOOD_NOINLINE void* allocate_from_rest(Context context, SizeClass k) const {
        const std::uint32_t full = slabs_.capacity(k);
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            for (std::uint32_t i = 0; i <= head_mask_; ++i) {
                Head& other = heads_[head_of(context.multiprocessor + i, k)];
                if (void* p = use(context, draw(other, k, 1), k)) return p;
                const HeadWord w = word(other).load_relaxed();
                if (slab_of(w) == kNowhere || tickets_left(w, full) > 0) continue;
                Policy::pause();
                const HeadWord old = word(other).exchange_acq_rel(kNoSlab);
                if (slab_of(old) != kNowhere) slabs_.close(context, old, k);
            }
            bool certain = true;
            HeadWord next = slabs_.opened_among(k, 0, slabs_.cell_count(), full - 1, full, certain);
            bool no_chunk = false;
            if (next == kNoSlab && round > 0) next = slabs_.fresh(context, k, no_chunk);
            Head& own = heads_[head_of(context.multiprocessor, k)];
            if (void* p = use(context, publish(context, own, next, k, 1), k)) return p;
            if (close_idle(context)) continue;
            if (next == kNoSlab && certain && no_chunk) return nullptr;
            platform::back_off(round);
        }
        return nullptr;
    }
    /// Draws the first n tickets of an own slab and leaves the others to all.
    HEAPWOOD_FN HeadWord publish(const Context& context, Head& own, HeadWord next, SizeClass k,
                                 std::uint32_t n) const {
        if (next == kNoSlab) return kNoSlab;
        Policy::pause();
        // Release: the slab, with all that its former users did to it.
        const HeadWord old = word(own).exchange_acq_rel(next + n);
        if (slab_of(old) != kNowhere) slabs_.close(context, old, k);
        return next;
    }

    /// A slab that was taken off its head keeps its tickets, if any are left, or gets new ones, if
    /// it has become roomy; else it is closed.
    HEAPWOOD_FN HeadWord renewed(const Context& context, HeadWord old, SizeClass k) const {
        const std::uint32_t slab = slab_of(old);
        if (slab == kNowhere) return kNoSlab;
        if (tickets_left(old, slabs_.capacity(k)) > 0) return old;
        // Acquire: the bits that were set, and what was done to the pieces before.
        const std::uint32_t used = slabs_.state(slab).load_acquire() & kCount;
        if (used > (Policy::kRoomyFirst ? slabs_.part(k, Policy::kRoomy) : 0)) {
            slabs_.close(context, old, k);
            return kNoSlab;
        }
        return slabs_.renewed(slab, used, slabs_.part(k, Policy::kBusy), k);
    }
    /// One of the closed slabs that are roomy, or else of the sparse ones. Looks at a few only, at
    /// others each time.
    HEAPWOOD_FN HeadWord reopened(SizeClass k) const {
        const State cursor(cursors_[k.number()]);
        const std::uint32_t begin = cursor.load_relaxed();
        const std::uint32_t most =
            Policy::kLooks < slabs_.cell_count() ? Policy::kLooks : slabs_.cell_count();
        cursor.store_relaxed(begin + most < slabs_.cell_count() ? begin + most : 0);
        bool certain;
        return slabs_.opened_among(k, begin, most, slabs_.part(k, Policy::kRoomy),
                                   slabs_.part(k, Policy::kBusy), certain);
    }
    /// Closes the slabs of heads of which no piece is in use. @return whether there was one.
    HEAPWOOD_NOINLINE bool close_idle(Context context) const {
        bool any = false;
        for (std::uint32_t i = 0; i < kClasses * (head_mask_ + 1); ++i) {
            const SizeClass k(i / (head_mask_ + 1));
            const HeadWord w = word(heads_[i]).load_relaxed();
            if (slab_of(w) == kNowhere) continue;
            const std::uint32_t left = tickets_left(w, slabs_.capacity(k));
            if ((slabs_.state(slab_of(w)).load_relaxed() & kCount) != left) continue;
            Policy::pause();
            const HeadWord old = word(heads_[i]).exchange_acq_rel(kNoSlab);
            if (slab_of(old) == kNowhere) continue;
            slabs_.close(context, old, k);
            any = true;
        }
        return any;
    }

    Slabs<Policy> slabs_;
    Head* heads_;
    std::uint32_t* cursors_;
    std::uint32_t small_;  // bytes
    std::uint32_t head_mask_;
};

}  // namespace heapwood::allocators::halloc
