/// @file
/// The slabs of LLVM's libc in kernels: pieces of one size, a guard and a bit field for each slab.
///
/// **Guards.** A slab has a guard, one word: the class of its pieces (0: there is no slab), whether
/// a slot holds it (core.cuh), and a count of those that use it.
/// - A request enters: it adds 1 to the count, and the answer tells what the slab is. Only if it is
///   of the right class and has room, the request may touch the bits; else it leaves. So it is
///   counted before it touches anything, and as long as it is counted the slab stays what it is.
/// - Whatever enters leaves, whatever the guard has become in the meantime: nothing but additions
///   and subtractions of equal numbers changes the count, and opening a slab adds the class to a
///   guard in which late requests may still be counted. So a guard without a slab does not grow.
/// - A thread that brings the count of a slab to 0, or takes back the hold when it is 0, closes the
///   slab, by a compare-and-swap from {class, no hold, 0}. If another has entered, that fails, and
///   the other one will see to it in turn; if two threads have brought it to 0, one after the
///   other, one of them closes it. Whichever slab of that class is closed then, it is not in use:
///   there is no ABA.
/// - The thread that closes a slab counts as 1 until the list has the memory. So others see that
///   memory is on its way; and if the slab is opened, used up and left meanwhile, this thread
///   closes it once more.
///
/// **Bits.** Those that have entered and found room are at most as many as pieces, and each has one
/// bit at most; a free clears the bit before it leaves. So there is a clear bit for each that looks
/// for one; but others may be quicker. A search begins at the bit whose number is the count, which
/// is clear in a slab of which nothing has been freed. Lanes that look together set a run of bits
/// by one operation, and each has its own of these, if it was clear. All bits of a closed slab are
/// clear.
///
/// **Memory order.** What was done to a piece, and to the slab, reaches the next owner:
/// - of the piece by its bit: cleared with a release, set with an acquire;
/// - of the slab by its guard: a leave is a release, closing an acquire, and all changes of guards
///   are read-modify-writes; then by the list, to the thread that opens it;
/// - from the opener by the guard: opening is a release, entering an acquire.
/// Where one lane acts for others, a sync of the group passes on to them what it has acquired, and
/// to it what they have done before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/llvm_libc/classes.cuh"
#include "allocators/parts/slab_list.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"

namespace heapwood::allocators {
template <class>
class BasicLlvmLibc;
}

namespace heapwood::allocators::llvm_libc {

/// A guard: kHeld, class << kClassShift, and the count.
inline constexpr std::uint32_t kHeld = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kClassShift = 24;
inline constexpr std::uint32_t kCount = (std::uint32_t{1} << kClassShift) - 1;

HEAPWOOD_INLINE constexpr std::uint32_t class_in(std::uint32_t guard) {
    return (guard & ~kHeld) >> kClassShift;
}
/// Whether there is a slab, which is neither in use nor held.
HEAPWOOD_INLINE constexpr bool is_to_be_closed(std::uint32_t guard) {
    return guard != 0 && (guard & (kHeld | kCount)) == 0;
}

/// Log2 of the bytes for which a word has bits: a bit for each of the smallest pieces.
inline constexpr std::uint32_t kWordShift = 9;

/// {slab, count}: requests that hold it have entered the slab, and the count was that before.
using Entry = std::uint64_t;
/// No entry; and none, because the pool has nothing left.
inline constexpr Entry kNoEntry = ~Entry{0};
inline constexpr Entry kRefused = kNoEntry - 1;
inline constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

HEAPWOOD_INLINE constexpr Entry make_entry(std::uint32_t slab, std::uint32_t count) {
    return Entry{slab} << 32 | count;
}
HEAPWOOD_INLINE constexpr std::uint32_t slab_of(Entry e) {
    return static_cast<std::uint32_t>(e >> 32);
}
HEAPWOOD_INLINE constexpr std::uint32_t count_of(Entry e) {
    return static_cast<std::uint32_t>(e);
}

/// The bits of a word that so many lanes, 32 at most, try to set together, the first at `begin`.
HEAPWOOD_INLINE constexpr std::uint32_t run_of(std::uint32_t begin, std::uint32_t lanes) {
    return ~0U >> (32 - lanes) << begin;
}

/// All slabs of a pool. Policy::pause() is called between any two steps that other threads may come
/// between, and does something in tests only.
template <class Policy>
class Slabs {
public:
    using List = SlabList<Policy>;
    using Word = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE const List& list() const { return list_; }
    HEAPWOOD_INLINE std::uint32_t cell_count() const { return cell_count_; }
    /// Pieces of a slab of that class.
    HEAPWOOD_INLINE std::uint32_t capacity(SizeClass k) const { return capacity_[k.number()]; }
    HEAPWOOD_INLINE Word guard(std::uint32_t slab) const { return Word(guards_[slab]); }

    /// Enters a slab n times, or as often as it has room. Of n lanes for which one has done so,
    /// those have entered whose number, plus the count, is below the capacity.
    HEAPWOOD_INLINE Entry enter(const Context& context, std::uint32_t slab, SizeClass k,
                                std::uint32_t n) const {
        Policy::pause();
        // Acquire: what the opener, and through the list all former users, did to the slab.
        const std::uint32_t before = guard(slab).add_acquire(n);
        const std::uint32_t room = room_in(before, k);
        if (room < n) leave(context, slab, n - room);
        return room == 0 ? kNoEntry : make_entry(slab, before & kCount);
    }
    /// What a slab of that guard has left for requests of a class.
    HEAPWOOD_INLINE std::uint32_t room_in(std::uint32_t guard, SizeClass k) const {
        const std::uint32_t count = guard & kCount;
        return class_in(guard) == k.number() && count < capacity(k) ? capacity(k) - count : 0;
    }
    HEAPWOOD_INLINE void leave(const Context& context, std::uint32_t slab, std::uint32_t n) const {
        Policy::pause();
        // Release: the bits that were cleared, and all that went before, to the thread that closes.
        const std::uint32_t now = guard(slab).sub_release(n) - n;
        if (is_to_be_closed(now)) close(context, slab, now);
    }
    /// For a slot, which no other slot does. The caller has entered. @return false: another does
    HEAPWOOD_INLINE bool hold(std::uint32_t slab) const {
        return (guard(slab).or_acquire(kHeld) & kHeld) == 0;
    }
    /// Takes back the hold.
    HEAPWOOD_INLINE void drop(const Context& context, std::uint32_t slab) const {
        Policy::pause();
        const std::uint32_t now = guard(slab).sub_relaxed(kHeld) - kHeld;
        if (is_to_be_closed(now)) close(context, slab, now);
    }

    /// The piece of that number, if its bit was clear; the caller has entered.
    HEAPWOOD_INLINE void* take(std::uint32_t slab, std::uint32_t number, SizeClass k) const {
        Policy::pause();
        // Acquire: what was done to the piece before its bit was cleared.
        const std::uint32_t old = bits(slab, number / 32).or_acquire(1U << number % 32);
        return (old >> number % 32 & 1U) == 0 ? piece(slab, number, k) : nullptr;
    }
    /// The bytes of the piece that begins at p, in a block that is in use; 0: none does.
    HEAPWOOD_INLINE std::uint64_t known_bytes(const void* p) const {
        const std::uint64_t offset = list_.offset(p);
        // A large block may also lie where there is no room for a slab.
        const std::uint64_t slab = offset >> list_.slab_shift();
        if (slab >= cell_count_) return 0;
        // Relaxed: what is a slab, and of which class, stays so while the block is in use.
        const std::uint32_t number =
            class_in(guard(static_cast<std::uint32_t>(slab)).load_relaxed());
        if (number == 0) return 0;
        const SizeClass k(number);
        const std::uint32_t in_slab =
            static_cast<std::uint32_t>(offset) & ((1U << list_.slab_shift()) - 1);
        return in_slab % k.bytes() == 0 ? k.bytes() : 0;
    }
    /// Clears the bit of a piece that its owner frees, and has to leave. @return its slab
    HEAPWOOD_INLINE std::uint32_t clear(void* p, SizeClass k) const {
        const std::uint64_t offset = list_.offset(p);
        const auto slab = static_cast<std::uint32_t>(offset >> list_.slab_shift());
        const std::uint32_t number =
            k.piece_at(static_cast<std::uint32_t>(offset) & ((1U << list_.slab_shift()) - 1));
        Policy::pause();
        // Release: what was done to the piece, to the request that sets its bit.
        bits(slab, number / 32).and_release(~(1U << number % 32));
        return slab;
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// A piece for a caller that has entered, with that count; lanes with the same slab look
    /// together. `first`: where to begin, or kNowhere: that was in vain. If others are quicker all
    /// the time, the caller leaves. @return or nullptr
    HEAPWOOD_NOINLINE void* search(Context context, Entry entry, std::uint32_t first,
                                   SizeClass k) const {
        const std::uint32_t slab = slab_of(entry);
        const std::uint32_t words = platform::ceil_div(capacity(k), 32U);
        std::uint32_t seed = (count_of(entry) + 1) * 0x9e3779b1U ^ context.warp;
        for (std::uint32_t i = 0; i < Policy::kTries + words; ++i) {
            if (first == kNowhere) {
                seed = shuffled(seed);
                const auto any = static_cast<std::uint32_t>(std::uint64_t{seed} * words >> 32);
                first = clear_bit(slab, i < Policy::kTries ? any : i - Policy::kTries, k);
                if (first == kNowhere) continue;
            }
            const platform::Lanes lanes(guard(slab));
            const std::uint32_t begin = lanes.of_leader(first);
            std::uint32_t old = 0;
            if (lanes.rank() == 0) {
                const std::uint32_t run = run_of(begin % 32, lanes.count());
                Policy::pause();
                // Acquire: what was done to the pieces before their bits were cleared.
                old = bits(slab, begin / 32).or_acquire(run & pieces_of(begin / 32, k));
            }
            old = lanes.of_leader(old);
            lanes.sync();
            const std::uint32_t own = begin % 32 + lanes.rank();
            // A lane beyond the word's end leads those that are left, sooner or later.
            if (own >= 32 || (pieces_of(begin / 32, k) >> own & 1U) == 0) continue;
            if ((old >> own & 1U) == 0) return piece(slab, begin / 32 * 32 + own, k);
            first = kNowhere;
        }
        leave(context, slab, 1);
        return nullptr;
    }

    /// A slab of new memory, held, which n have entered, or as many as there are pieces.
    HEAPWOOD_FN Entry open(const Context& context, SizeClass k, std::uint32_t n) const {
        const std::uint32_t slab = list_.take(context);
        if (slab == List::kNoSlab) return kNoEntry;
        Policy::pause();
        // Release: what was acquired with the memory.
        guard(slab).add_release(kHeld | k.number() << kClassShift |
                                (n < capacity(k) ? n : capacity(k)));
        return make_entry(slab, 0);
    }

private:
    friend class BasicLlvmLibc<Policy>;

    HEAPWOOD_INLINE char* piece(std::uint32_t slab, std::uint32_t number, SizeClass k) const {
        return list_.slab(slab) + number * k.bytes();
    }
    HEAPWOOD_INLINE Word bits(std::uint32_t slab, std::uint32_t i) const {
        return Word(bits_[(std::uint64_t{slab} << (list_.slab_shift() - kWordShift)) + i]);
    }
    /// The bits of a word that stand for pieces.
    HEAPWOOD_INLINE std::uint32_t pieces_of(std::uint32_t word, SizeClass k) const {
        const std::uint32_t rest = capacity(k) - word * 32;
        return rest < 32 ? (1U << rest) - 1 : ~0U;
    }
    /// The first clear bit of a word, or kNowhere.
    HEAPWOOD_INLINE std::uint32_t clear_bit(std::uint32_t slab, std::uint32_t word,
                                            SizeClass k) const {
        const std::uint32_t clear = ~bits(slab, word).load_relaxed() & pieces_of(word, k);
        return clear == 0 ? kNowhere : word * 32 + platform::floor_log2(clear & (0U - clear));
    }
    /// Marsaglia's generator of 32 bits, as published (xorshift); of 0 it makes 0.
    HEAPWOOD_INLINE static std::uint32_t shuffled(std::uint32_t x) {
        x ^= x << 13;
        x ^= x >> 17;
        return x ^ x << 5;
    }
    /// Returns a slab to the list that a moment ago was not in use; nothing, if others see to it.
    HEAPWOOD_NOINLINE void close(Context context, std::uint32_t slab, std::uint32_t seen) const {
        do {
            Policy::pause();
            // Acquire: all that was done to the slab, to the list.
            if (!guard(slab).cas_acquire(seen, 1)) return;
            Policy::pause();
            list_.give(context, list_.slab(slab));
            Policy::pause();
            seen = guard(slab).sub_relaxed(1) - 1;
        } while (is_to_be_closed(seen));
    }

    List list_;
    std::uint32_t* guards_;
    std::uint32_t* bits_;
    std::uint32_t capacity_[kClasses];  // pieces of a slab
    std::uint32_t cell_count_;
};

}  // namespace heapwood::allocators::llvm_libc
