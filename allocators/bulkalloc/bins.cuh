/// @file
/// UAlloc (Gelado & Garland 2019): bins of small blocks of one size, and chunks of bins.
///
/// **Bins.** The pool is divided into bins of equal size. A bin that is open has blocks of one
/// kind, a power of two of bytes from 16 on. Bins come from chunks, each of which is a block of
/// TBuddy (buddies.cuh): a chunk is a bin of bins, of kind 0, and all that follows is the same for
/// both. Where no chunk can be had, a bin is a block of TBuddy by itself.
///
/// **Arenas.** Multiprocessors have arenas. For each kind an arena has a bulk semaphore
/// (semaphore.cuh) and a hint, the bin that served it last. A unit that is freed counts for the
/// arena of the thread that frees it, in whatever bin it lies: the semaphores of a kind are shares
/// of one count. A thread that has got units from its arena's semaphore takes them from the hinted
/// bin, or the next bin with a free unit. A request for which nothing can be produced gets a unit
/// from the semaphore of any arena.
///
/// **Finding bins.** Published are lists of bins with deferred reclamation (RCU), so that a search
/// never follows a link of a bin that is gone. Here a bin is a number, and its state lies beside
/// the pool for ever, so nothing need be deferred: a tree of bits for each kind lists the bins with
/// free units. A bit is a hint, which the bin's guard confirms.
/// - Each bin has a guard, one word: its kind plus 1 (0: closed) and the number of its free units.
///   A thread takes n units from the number by a compare-and-swap, and only then looks for as many
///   bits; as long as it has not put them back the bin cannot be closed. So a bit that is found is
///   one of the right kind.
/// - A free sets the unit's bit, then adds 1 to the guard, then lists the bin if the number was 0,
///   and signals. So there are never fewer bits than the number says, nor fewer free units than the
///   semaphores say.
/// - A search that finds a listed bin without free units removes it from the list, looks at the
///   guard again, and lists it again if it has a unit now. Either the removal comes after another
///   thread's listing, which it then has acquired with the change of the guard, or the listing
///   comes after it and stays.
///
/// **Closing.** A bin all of whose units are free is closed by a thread that has got as many units
/// from the semaphores, by a compare-and-swap of its guard from {kind, all} to 0. It does not
/// matter if the bin was closed and opened again meanwhile: it is wholly free. The thread that
/// frees the last unit closes the bin if its arena's semaphore keeps as many units as the bin has;
/// otherwise it notes it as idle, for a request that would be refused (close_idle).
///
/// **Stalled threads.** A thread between its addition to a guard and the listing hides a bin that
/// only it lists. A search that has found nothing kLooks times reads all guards, so it finds the
/// bin all the same. A thread that has got units and is stalled keeps these, and the bin from being
/// closed, and nothing else.
///
/// **Memory order.** What was done to a block reaches its next owner by the unit's bit (set with a
/// release, cleared with an acquire), and what was done to a bin reaches the thread that closes it
/// by its guard (additions are releases, closing acquires). From the thread that opens a bin it
/// goes by the guard to those that take units: opening is a release, taking an acquire.
#pragma once

#include <cstdint>

#include "allocators/bulkalloc/buddies.cuh"
#include "allocators/bulkalloc/semaphore.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::bulkalloc {

/// Kind 0 is that of chunks; bins of kind k have blocks of 8 * 2^k bytes.
inline constexpr std::uint32_t kKinds = 8;

/// A bin's guard: (kind + 1) << kKindShift, and the number of free units.
inline constexpr std::uint32_t kKindShift = 16;

HEAPWOOD_INLINE constexpr std::uint32_t make_guard(std::uint32_t kind, std::uint32_t units) {
    return (kind + 1) << kKindShift | units;
}
/// Free units in a bin of that guard, if it is of that kind.
HEAPWOOD_INLINE constexpr std::uint32_t units_in(std::uint32_t guard, std::uint32_t kind) {
    return guard >> kKindShift == kind + 1 ? guard & ((1U << kKindShift) - 1) : 0;
}

/// An arena's share of a kind; by itself in half a sector of the L2 cache.
struct alignas(16) Share {
    Count count;
    std::uint32_t hint;  ///< the bin that served last
};

/// Units that the caller may look for in a bin.
struct Grant {
    std::uint32_t bin;    ///< kNone: there is none
    std::uint32_t units;  ///< how many; 0 and no bin: the pool has none; else: to be tried again
    std::uint32_t first;  ///< where to look first
};
inline constexpr Grant kNothing{kNone, 0, 0};
inline constexpr Grant kAgain{kNone, 1, 0};

/// All bins of a pool. Numbers below bins() are those of bins, the others those of chunks.
template <class Policy>
class Bins {
public:
    HEAPWOOD_INLINE const Buddies<Policy>& buddies() const { return buddies_; }
    HEAPWOOD_INLINE std::uint32_t bin_shift() const { return bin_shift_; }
    HEAPWOOD_INLINE std::uint32_t arena_of(std::uint32_t multiprocessor) const {
        return multiprocessor & arena_mask_;
    }

    /// The bin that served an arena's last request of a kind.
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> hint(std::uint32_t arena,
                                                            std::uint32_t kind) const {
        return platform::AtomicRef<std::uint32_t>(share(arena, kind).hint);
    }
    /// Units of a kind, n at most and one at least, for the callers of an arena.
    HEAPWOOD_INLINE Grant supply(std::uint32_t arena, std::uint32_t kind, std::uint32_t n) const {
        const std::uint32_t all = capacity(kind);
        if (n > all) n = all;
        if (count(arena, kind).take(n, n)) return claim(arena, kind, n);
        return supply_slowly<true>(arena, kind, n);
    }
    /// The unit that a caller with a grant has for its own: the one of that rank if others are not
    /// quicker. kNone: they were, all the time, and the unit that was granted is put back.
    /// kBlocks: kind is not 0.
    template <bool kBlocks>
    HEAPWOOD_INLINE std::uint32_t find_unit(std::uint32_t arena, std::uint32_t kind,
                                            const Grant& grant, std::uint32_t rank) const {
        const std::uint32_t all = capacity(kind);
        std::uint32_t at = (grant.first + rank) & (all - 1);
        for (std::uint32_t look = 0; look < Policy::kLooks; ++look) {
            const Word word = bits(grant.bin, at);
            std::uint32_t free = word.load_relaxed();
            const std::uint32_t later = free & (~0U << at % 32);
            free = later != 0 ? later : free;
            if (free != 0) {
                const std::uint32_t bit = free & (0U - free);
                Policy::pause();
                // Acquire: what was done to the unit before it was free.
                if ((word.and_acquire(~bit) & bit) != 0) {
                    return (at & ~31U) + platform::floor_log2(bit);
                }
            } else {
                at = (at + 32) & (all - 1) & ~31U;
            }
        }
        put_back<kBlocks>(arena, kind, grant.bin, 0);
        return kNone;
    }
    /// Frees a unit. kBlocks: of a kind that is not 0. @param expected 1: it was promised to the
    /// arena's semaphore; or 0
    template <bool kBlocks>
    HEAPWOOD_INLINE void free(std::uint32_t arena, std::uint32_t kind, std::uint32_t bin,
                              std::uint32_t unit, std::uint32_t expected) const {
        Policy::pause();
        // Release: what was done to the unit.
        bits(bin, unit).set_release(1U << unit % 32);
        put_back<kBlocks>(arena, kind, bin, expected);
    }

    /// A block of TBuddy, for which idle bins are closed and buddies merged if need be.
    HEAPWOOD_NOINLINE Node obtain(std::uint32_t arena, std::uint32_t order,
                                  std::uint32_t place) const {
        for (std::uint32_t round = 0;; ++round) {
            const Node node = buddies_.allocate(order, place);
            if (node != kNone || round == Policy::kRounds) return node;
            const bool closed = close_idle(arena);
            if (!buddies_.merge_all() && !closed) return kNone;
        }
    }

private:
    template <class>
    friend class heapwood::allocators::BasicBulkAlloc;

    using Word = platform::AtomicRef<std::uint32_t>;

    /// Units of a bin.
    HEAPWOOD_INLINE std::uint32_t capacity(std::uint32_t kind) const {
        return 1U << (kind == 0 ? chunk_shift_ : bin_shift_ - 3 - kind);
    }
    HEAPWOOD_INLINE Share& share(std::uint32_t arena, std::uint32_t kind) const {
        return shares_[arena * kKinds + kind];
    }
    HEAPWOOD_INLINE Semaphore<Policy> count(std::uint32_t arena, std::uint32_t kind) const {
        return Semaphore<Policy>(share(arena, kind).count);
    }
    HEAPWOOD_INLINE Word guard(std::uint32_t bin) const { return Word(guards_[bin]); }
    HEAPWOOD_INLINE Word bits(std::uint32_t bin, std::uint32_t unit) const {
        return Word(bits_[std::uint64_t{bin} * words_each_ + unit / 32]);
    }
    HEAPWOOD_INLINE BitTree listed(std::uint32_t kind) const {
        return BitTree(trees_ + std::uint64_t{kind} * shape_.words(), shape_);
    }
    HEAPWOOD_INLINE BitTree idle() const { return listed(kKinds); }

    /// Units of a bin for a thread that has got n from a semaphore.
    HEAPWOOD_INLINE Grant claim(std::uint32_t arena, std::uint32_t kind, std::uint32_t n) const {
        const std::uint32_t bin = hint(arena, kind).load_relaxed();
        const Grant grant = claim_in(arena, kind, n, bin);
        return grant.bin != kNone ? grant : search(arena, kind, n, bin);
    }
    /// Up to n units of that bin; if there are fewer, the semaphore gets the rest back.
    HEAPWOOD_INLINE Grant claim_in(std::uint32_t arena, std::uint32_t kind, std::uint32_t n,
                                   std::uint32_t bin) const {
        std::uint32_t seen = guard(bin).load_relaxed();
        for (;;) {
            const std::uint32_t free = units_in(seen, kind);
            if (free == 0) return kNothing;
            const std::uint32_t got = free < n ? free : n;
            Policy::pause();
            // Acquire: what the thread that opened the bin did.
            if (!guard(bin).cas_acquire(seen, seen - got)) continue;
            if (got < n) count(arena, kind).signal(n - got, 0);
            return {bin, got, capacity(kind) - free};
        }
    }
    HEAPWOOD_NOINLINE Grant search(std::uint32_t arena, std::uint32_t kind, std::uint32_t n,
                                   std::uint32_t bin) const {
        Grant grant = kNothing;
        for (std::uint32_t look = 0; grant.bin == kNone && look < Policy::kLooks; ++look) {
            Policy::pause();
            bin = listed(kind).find(bin + 1);
            if (bin == kNone) bin = listed(kind).find(0);
            if (bin == kNone) {
                platform::back_off(look);
                continue;
            }
            grant = claim_in(arena, kind, n, bin);
            if (grant.bin != kNone) break;
            Policy::pause();
            listed(kind).clear(bin);
            Policy::pause();
            if (units_in(guard(bin).load_relaxed(), kind) != 0) listed(kind).set(bin);
        }
        for (bin = 0; grant.bin == kNone && bin < bins_ + chunks_; ++bin) {
            grant = claim_in(arena, kind, n, bin);
        }
        if (grant.bin == kNone) {
            count(arena, kind).signal(n, 0);
            return kAgain;
        }
        hint(arena, kind).store_relaxed(grant.bin);
        return grant;
    }

    /// What supply() does if its arena has too few units. kBlocks: kind is not 0.
    template <bool kBlocks>
    HEAPWOOD_NOINLINE Grant supply_slowly(std::uint32_t arena, std::uint32_t kind,
                                          std::uint32_t n) const {
        const std::uint32_t all = capacity(kind);
        if (count(arena, kind).wait(n, all) == Wait::acquired) return claim(arena, kind, n);
        std::uint32_t bin;
        if constexpr (kBlocks) {
            bin = new_bin(arena);
        } else {
            const Node node = obtain(arena, chunk_shift_, arena);
            bin = node == kNone ? kNone : bins_ + node - buddies_.first(chunk_shift_);
        }
        if (bin == kNone) {
            count(arena, kind).cancel(all - n);
            return borrow(kind, arena);
        }
        open(bin, kind, all - n);
        if (n < all) {
            listed(kind).set(bin);
            hint(arena, kind).store_relaxed(bin);
            count(arena, kind).signal(all - n, all - n);
        }
        return {bin, n, 0};
    }
    /// A bin of a chunk, or of TBuddy. kNone: there is none.
    HEAPWOOD_FN std::uint32_t new_bin(std::uint32_t arena) const {
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const Grant grant = supply_slowly<false>(arena, 0, 1);
            if (grant.bin == kNone && grant.units == 0) break;
            if (grant.bin == kNone) continue;
            const std::uint32_t unit = find_unit<false>(arena, 0, grant, 0);
            if (unit != kNone) return ((grant.bin - bins_) << chunk_shift_) + unit;
        }
        const Node node = obtain(arena, 0, arena);
        return node == kNone ? kNone : node - buddies_.first(0);
    }
    /// A unit that any arena has.
    HEAPWOOD_FN Grant borrow(std::uint32_t kind, std::uint32_t arena) const {
        for (std::uint32_t i = 0; i <= arena_mask_; ++i) {
            const std::uint32_t other = (arena + i) & arena_mask_;
            if (count(other, kind).wait(1, 0) == Wait::acquired) return claim(other, kind, 1);
        }
        return kNothing;
    }
    /// Opens a bin with so many free units and as many bits as units.
    HEAPWOOD_FN void open(std::uint32_t bin, std::uint32_t kind, std::uint32_t units) const {
        const std::uint32_t all = capacity(kind);
        for (std::uint32_t i = 0; i < all; i += 32) {
            bits(bin, i).store_relaxed(all < 32 ? (1U << all) - 1 : ~0U);
        }
        Policy::pause();
        // Release: the bits, and what was done to the bin before.
        guard(bin).store_release(make_guard(kind, units));
    }

    /// Adds a free unit, the bit of which is set, to a bin.
    template <bool kBlocks>
    HEAPWOOD_INLINE void put_back(std::uint32_t arena, std::uint32_t kind, std::uint32_t bin,
                                  std::uint32_t expected) const {
        Policy::pause();
        // Release: what was done to the unit, to the thread that closes the bin.
        const std::uint32_t free = units_in(guard(bin).add_release(1), kind) + 1;
        if (free == 1) {
            Policy::pause();
            listed(kind).set(bin);
        }
        count(arena, kind).signal(1, expected);
        if (free == capacity(kind)) retire<kBlocks>(arena, kind, bin);
    }
    /// Closes a bin that was wholly free a moment ago, or notes it as idle.
    template <bool kBlocks>
    HEAPWOOD_NOINLINE void retire(std::uint32_t arena, std::uint32_t kind,
                                  std::uint32_t bin) const {
        const std::uint32_t kept = kBlocks ? capacity(kind) : 0;
        if (!close<kBlocks>(arena, arena, kind, bin, kept)) idle().set(bin);
    }
    /// Closes all bins that are noted as idle, and still are. @return whether there were any
    HEAPWOOD_NOINLINE bool close_idle(std::uint32_t arena) const {
        bool any = false;
        // Chunks come after their bins.
        for (std::uint32_t bin = idle().find(0); bin != kNone; bin = idle().find(bin + 1)) {
            Policy::pause();
            // Acquires the guard's change of the thread that noted it, or the look would be old.
            if (!idle().clear(bin)) continue;
            Policy::pause();
            const std::uint32_t seen = guard(bin).load_relaxed();
            if (seen == 0) continue;
            const std::uint32_t kind = (seen >> kKindShift) - 1;
            const std::uint32_t last = arena + arena_mask_;
            if (kind != 0 ? close<true>(arena, last, kind, bin, 0)
                          : close<false>(arena, last, 0, bin, 0)) {
                any = true;
            } else if (guard(bin).load_relaxed() == make_guard(kind, capacity(kind))) {
                idle().set(bin);
            }
        }
        return any;
    }
    /// Closes a bin if it is wholly free, and as many units, and `kept` ones more, can be had from
    /// the semaphores of some arenas, one after the other. @return whether it did
    template <bool kBlocks>
    HEAPWOOD_FN bool close(std::uint32_t arena, std::uint32_t last, std::uint32_t kind,
                           std::uint32_t bin, std::uint32_t kept) const {
        const std::uint32_t all = capacity(kind);
        // Whoever misses the units waits for what comes of them.
        const Semaphore above = kBlocks ? count(arena, 0) : buddies_.count(chunk_shift_);
        above.expect(1);
        std::uint32_t got = 0;
        for (std::uint32_t from = arena; got < all && from <= last; ++from) {
            got += count(from & arena_mask_, kind).take_some(all - got, kept);
        }
        std::uint32_t wanted = make_guard(kind, all);
        Policy::pause();
        // Acquire: all that was done to the bin.
        if (got < all || !guard(bin).cas_acquire(wanted, 0)) {
            if (got != 0) count(arena, kind).signal(got, 0);
            above.cancel(1);
            return false;
        }
        if constexpr (kBlocks) {
            const std::uint32_t chunk = bins_ + (bin >> chunk_shift_);
            Policy::pause();
            if (guard(chunk).load_relaxed() >> kKindShift != 0) {
                free<false>(arena, 0, chunk, bin & ((1U << chunk_shift_) - 1), 1);
            } else {
                buddies_.count(0).expect(1);
                above.cancel(1);
                buddies_.free(buddies_.first(0) + bin, 0, 1);
            }
        } else {
            buddies_.free(buddies_.first(chunk_shift_) + bin - bins_, chunk_shift_, 1);
        }
        return true;
    }

    Buddies<Policy> buddies_;
    Share* shares_;
    std::uint32_t* guards_;
    std::uint32_t* bits_;
    std::uint64_t* trees_;  ///< bins with free units, of each kind, and idle ones
    TreeShape shape_;       ///< of each of them
    std::uint32_t bins_;
    std::uint32_t chunks_;
    std::uint32_t words_each_;  ///< of bits, for a bin or a chunk
    std::uint32_t bin_shift_;
    std::uint32_t chunk_shift_;  ///< log2 of a chunk's bins
    std::uint32_t arena_mask_;
};

}  // namespace heapwood::allocators::bulkalloc
