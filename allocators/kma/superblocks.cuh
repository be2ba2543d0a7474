/// @file
/// KMA's superblocks in kernels: pages of one size, a state word and a bitmap for each superblock.
///
/// **States.** The state of a superblock is one word: the class of its pages (0: there is no
/// superblock), whether the map has it (core.cuh), and how many of its pages are reserved.
/// - A request reserves pages: it raises the count by a compare-and-swap, from a word that has its
///   class and room. So what it has reserved is there, and a request that comes late, to a
///   superblock that has become something else, changes nothing. A word that is what it was before
///   may have been another in between, but it means the same: there is no ABA.
/// - Then it searches the bitmap. Each that has reserved a page has at most one bit, so there is a
///   clear bit for each that looks for one; but others may be quicker. A free clears the bit before
///   it lowers the count. All bits of a superblock of which nothing is reserved are clear.
/// - A thread that brings the count of a superblock outside of the map to 0, or takes one off the
///   map of which nothing is reserved, closes it: a compare-and-swap from {class, 0} to kQueued.
///   It fails if a request has reserved a page in between, whose last free sees to it in turn.
///   Whichever superblock of that class is closed, it is not in use. Who closes it owns it, and
///   puts it into the queue (queue.cuh).
/// - Who takes it out of the queue owns it, and opens it for any class, or returns it to the list
///   (parts/slab_list.cuh) that superblocks come from. Nobody else changes a word without a class.
///
/// **Roomy superblocks.** Those that are not in the map and have room are listed in a tree of bits
/// of their class (segments/bit_tree.cuh). The trees are hints, but complete at rest: a superblock
/// is listed when it leaves the map with room, and by each free outside of the map that does not
/// find it listed. The request that reserves its last page, or finds none to reserve, takes it off,
/// looks at the state again, and lists it if it has room after all. This look is an update of the
/// state, as each free is: so either it sees the room, or the free sees that the superblock is not
/// listed. Likewise who maps it takes it off first: if the map has it already, leaving the map is
/// still to come.
///
/// **Memory order.** What was done to a page, and to the superblock, reaches the next owner:
/// - of the page by its bit: cleared with a release, set with an acquire;
/// - of the superblock by its state: each lowering of the count is a release, all changes of states
///   are read-modify-writes, and the thread that takes it out of the queue acquires; then perhaps
///   by the list, to the thread that opens it;
/// - from there by the state: opening is a release, reserving an acquire.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/kma/queue.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/parts/slab_list.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/segments/bit_tree.cuh"
#include "allocators/segments/layout.cuh"

namespace heapwood::allocators {
template <class>
class BasicKma;
}

namespace heapwood::allocators::kma {

using segments::BitTree;
using segments::kNone;
using segments::TreeShape;

/// A page of class k, from 1 on, has 2^(kPageShift + k) bytes.
inline constexpr std::uint32_t kPageShift = 3;

/// The class for `bytes` bytes, not 0.
HEAPWOOD_INLINE std::uint32_t class_of(std::uint32_t bytes) {
    return platform::floor_log2((bytes - 1) | 15U) + 1 - kPageShift;
}

/// A superblock's state: kMapped, class << kClassShift, and the count.
using State = std::uint32_t;
inline constexpr State kMapped = State{1} << 30;
inline constexpr std::uint32_t kClassShift = 24;
inline constexpr State kCount = (State{1} << kClassShift) - 1;
/// A free superblock, in the queue or on its way there.
inline constexpr State kQueued = State{1} << 31;

HEAPWOOD_INLINE constexpr std::uint32_t class_in(State s) {
    return (s & ~(kMapped | kQueued)) >> kClassShift;
}
/// Whether it is a superblock outside of the map of which nothing is reserved.
HEAPWOOD_INLINE constexpr bool is_to_be_closed(State s) {
    return s != 0 && (s & (kQueued | kMapped | kCount)) == 0;
}

/// Pages that the caller has: bits of a word of a bitmap.
struct Claim {
    std::uint64_t offset = 0;  ///< bytes from the pool's start to the page of the word's first bit
    std::uint64_t pages = 0;   ///< bits; 0: none
};

/// All superblocks of a pool. Policy::pause() is called between any two steps that other threads
/// may come between, and does something in tests only.
template <class Policy>
class Superblocks {
public:
    using List = SlabList<Policy>;
    using Word = platform::AtomicRef<State>;

    HEAPWOOD_INLINE const List& list() const { return list_; }
    HEAPWOOD_INLINE std::uint32_t count() const { return count_; }
    /// Counts what hides pages or superblocks for a moment.
    HEAPWOOD_INLINE Moves moves() const { return Moves(*moves_); }
    /// The number of the superblock at so many bytes from the pool's start.
    HEAPWOOD_INLINE std::uint32_t number_at(std::uint64_t offset) const {
        return static_cast<std::uint32_t>(offset >> list_.slab_shift());
    }
    /// Of class k, those that have room and are not in the map.
    HEAPWOOD_INLINE BitTree roomy(std::uint32_t k) const {
        return {trees_ + std::uint64_t{k - 1} * shape_.words(), shape_};
    }
    HEAPWOOD_INLINE Word state(std::uint32_t i) const { return Word(states_[i]); }
    /// Whether nothing of a superblock is reserved at the moment.
    HEAPWOOD_INLINE bool is_idle(std::uint32_t i) const {
        return (state(i).load_relaxed() & kCount) == 0;
    }

    /// The bytes of the page that begins at p, in a block that is in use; 0: none does.
    HEAPWOOD_INLINE std::uint64_t known_bytes(const void* p) const {
        const std::uint64_t offset = list_.offset(p);
        // A large block may also lie where there is no room for a superblock.
        if (offset >> list_.slab_shift() >= count_) return 0;
        // Relaxed: the class stays as it is while one of the pages is in use.
        const std::uint32_t k = class_in(state(number_at(offset)).load_relaxed());
        if (k == 0) return 0;
        const std::uint64_t page = std::uint64_t{1} << (kPageShift + k);
        const std::uint64_t within = offset & (superblock_bytes() - 1);
        return (within & (page - 1)) == 0 ? page : 0;
    }

    // What is long is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// Up to n pages, of one word, of a superblock, if it is of class k and has room.
    HEAPWOOD_NOINLINE Claim take(std::uint32_t i, std::uint32_t k, std::uint32_t n) const {
        State s = state(i).load_relaxed();
        for (;;) {
            const std::uint32_t room = room_in(s, k);
            if (room == 0) return {};
            if (n > room) n = room;
            Policy::pause();
            // Acquire: what was done to the superblock, from its opener.
            if (state(i).cas_acquire(s, s + n)) break;
        }
        Policy::pause();
        if (room_in(s, k) == n && (s & kMapped) == 0) unlist(i, k);
        return search(i, k, s & kCount, n);
    }
    /// Clears the bit of a page of class k, whose owner has to leave().
    HEAPWOOD_INLINE void clear(void* p, std::uint32_t i, std::uint32_t k) const {
        const auto within = static_cast<std::uint32_t>(list_.offset(p)) & (superblock_bytes() - 1);
        const std::uint32_t page = within >> (kPageShift + k);
        Policy::pause();
        // Release: what was done to the page, to the request that sets its bit.
        bits(i, page / 64).and_release(~(std::uint64_t{1} << page % 64));
    }
    /// Takes back the reservation of n pages, of which no bits are set.
    HEAPWOOD_NOINLINE void leave(std::uint32_t i, std::uint32_t n) const {
        Policy::pause();
        // Release: the bits, and what was done to the superblock, to the thread that closes it.
        // Acquire: that it was taken off the list.
        const State now = state(i).sub_acq_rel(n) - n;
        Policy::pause();
        if (is_to_be_closed(now) && close(i, now)) return;
        if ((now & kMapped) == 0 && !roomy(class_in(now)).has(i)) roomy(class_in(now)).set(i);
    }
    /// For the map, of a thread that has a page of the superblock. @return false: the map has it
    HEAPWOOD_NOINLINE bool map(std::uint32_t i, std::uint32_t k) const {
        roomy(k).clear(i);
        Policy::pause();
        // Release: that it is not listed, to those that free pages when the map has given it up.
        return (state(i).or_acq_rel(kMapped) & kMapped) == 0;
    }
    /// Of the thread that has taken the superblock off the map.
    HEAPWOOD_NOINLINE void unmap(std::uint32_t i) const {
        Policy::pause();
        const State now = state(i).sub_relaxed(kMapped) - kMapped;
        Policy::pause();
        if (is_to_be_closed(now) && close(i, now)) return;
        if (room_in(now, class_in(now)) != 0) roomy(class_in(now)).set(i);
    }
    /// Takes a superblock off the list of a class, unless it has room there.
    HEAPWOOD_NOINLINE void unlist(std::uint32_t i, std::uint32_t k) const {
        moves().begin();
        Policy::pause();
        roomy(k).clear(i);
        Policy::pause();
        // An update, for that never sees an old word. Release: that the superblock is not listed,
        // to those that free pages after it.
        const State s = state(i).add_release(0);
        if ((s & kMapped) == 0 && room_in(s, k) != 0) {
            roomy(k).set(i);
            moves().end();
        } else {
            moves().end_in_vain();
        }
    }

    /// Whether open() may find something: a look without a trace, for a search in vain that counted
    /// as a move would hold up the refusals of all others.
    HEAPWOOD_INLINE bool may_open() const {
        return !queue().is_empty() || !list_.is_full(list_.returned());
    }
    /// Opens a free superblock, as part of a move: one of the queue, or else of the list. The
    /// caller has up to n of its first pages, and it is mapped. None: there was no superblock.
    HEAPWOOD_FN Claim open(const Context& context, std::uint32_t k, std::uint32_t n) const {
        std::uint32_t i = queue().pop();
        if (i == Queue<Policy>::kEmpty) i = list_.take(context);
        if (i == List::kNoSlab) return {};
        if (n > capacity(k)) n = capacity(k);
        const Claim claim{offset(i, k, 0), ~std::uint64_t{0} >> (64 - n)};
        // Relaxed, as the count: the state has the order.
        bits(i, 0).store_relaxed(claim.pages);
        Policy::pause();
        // Acquire: what was done to the superblock by all, and that it was taken off a list while
        // it was free. Release: that, to those that reserve.
        state(i).exchange_acq_rel(kMapped | k << kClassShift | n);
        return claim;
    }
    /// Returns all free superblocks to the list. @return whether there was one.
    HEAPWOOD_NOINLINE bool empty_queue(Context context) const {
        bool any = false;
        while (!queue().is_empty()) {
            moves().begin();
            Policy::pause();
            const std::uint32_t i = queue().pop();
            if (i == Queue<Policy>::kEmpty) {
                moves().end_in_vain();
                break;
            }
            // Acquire: what was done to the superblock by all.
            state(i).exchange_acquire(0);
            Policy::pause();
            list_.give(context, list_.slab(i));
            moves().end();
            any = true;
        }
        return any;
    }
    /// Up to n pages of any superblock of class k; looks at all, wherever they are.
    HEAPWOOD_NOINLINE Claim take_any(std::uint32_t k, std::uint32_t n) const {
        for (std::uint32_t i = 0; i < count_; ++i) {
            const Claim claim = take(i, k, n);
            if (claim.pages != 0) return claim;
        }
        return {};
    }

private:
    friend class BasicKma<Policy>;

    using Bits = platform::AtomicRef<std::uint64_t>;

    HEAPWOOD_INLINE Queue<Policy> queue() const { return {*ends_, nodes_}; }
    HEAPWOOD_INLINE std::uint32_t superblock_bytes() const { return 1U << list_.slab_shift(); }
    /// Pages of a superblock.
    HEAPWOOD_INLINE std::uint32_t capacity(std::uint32_t k) const {
        return superblock_bytes() >> (kPageShift + k);
    }
    /// Pages that a request of a class can reserve there.
    HEAPWOOD_INLINE std::uint32_t room_in(State s, std::uint32_t k) const {
        return class_in(s) == k && (s & kQueued) == 0 ? capacity(k) - (s & kCount) : 0;
    }
    /// Bits of a superblock: a bit for each of the smallest pages.
    HEAPWOOD_INLINE std::uint32_t words_each() const {
        return platform::ceil_div(capacity(1), 64U);
    }
    HEAPWOOD_INLINE Bits bits(std::uint32_t i, std::uint32_t word) const {
        return Bits(bits_[std::uint64_t{i} * words_each() + word]);
    }
    HEAPWOOD_INLINE std::uint64_t offset(std::uint32_t i, std::uint32_t k,
                                         std::uint32_t word) const {
        return (std::uint64_t{i} << list_.slab_shift()) +
               (std::uint64_t{word} * 64 << (kPageShift + k));
    }
    /// Sets the bits of up to n pages of one word, from page `first` on and round; the caller has
    /// reserved n, and gives back the others.
    HEAPWOOD_NOINLINE Claim search(std::uint32_t i, std::uint32_t k, std::uint32_t first,
                                   std::uint32_t n) const {
        const std::uint32_t pages = capacity(k);
        const std::uint32_t words = platform::ceil_div(pages, 64U);
        const std::uint64_t all = ~std::uint64_t{0} >> (pages < 64 ? 64 - pages : 0);
        for (std::uint32_t tries = 0; tries < Policy::kPasses * words; ++tries) {
            const std::uint32_t word = (first / 64 + tries) % words;
            std::uint64_t seen = bits(i, word).load_relaxed();
            while ((~seen & all) != 0) {
                const std::uint64_t wanted =
                    platform::some_bits(~seen & all, n, tries == 0 ? first % 64 : 0);
                Policy::pause();
                // Acquire: what was done to the pages before their bits were cleared.
                seen = bits(i, word).or_acquire(wanted);
                const std::uint64_t got = wanted & ~seen;
                seen |= wanted;
                if (got == 0) continue;
                const std::uint32_t left = n - platform::popcount(got);
                if (left != 0) leave(i, left);
                return {offset(i, k, word), got};
            }
        }
        leave(i, n);
        return {};
    }
    /// Closes a superblock whose state was `seen` a moment ago. @return false: others see to it
    HEAPWOOD_NOINLINE bool close(std::uint32_t i, State seen) const {
        moves().begin();
        Policy::pause();
        const std::uint32_t k = class_in(seen);
        // Relaxed: who takes it out of the queue acquires the state.
        if (!state(i).cas_relaxed(seen, kQueued)) {
            moves().end_in_vain();
            return false;
        }
        Policy::pause();
        roomy(k).clear(i);
        queue().push(i);
        moves().end();
        return true;
    }

    List list_;
    State* states_;
    std::uint64_t* bits_;   // words_each() for each superblock
    std::uint64_t* trees_;  // of roomy superblocks, for each class
    QueueEnds* ends_;
    Node* nodes_;
    Moves::Word* moves_;
    TreeShape shape_;
    std::uint32_t count_;
};

}  // namespace heapwood::allocators::kma
