/// @file
/// A pool of segments in kernels: which are free, which are divided into blocks, and their blocks.
/// So Gallatin describes them; DynaSOAr takes its blocks from them as well.
///
/// **A segment's life.** A segment that is free is in the tree of free segments. The thread that
/// removes it there has it alone. It makes a run of it and of those next to it, for one large
/// request; or it divides it into blocks of a class, which it publishes in the segment's state
/// {class, blocks in use}, and lists it in the tree of its class.
/// - A request for a block raises the count by a compare-and-swap of the whole state, and so enters
///   the segment: as long as it is counted, the segment remains what it is. Then it clears one of
///   the bits of free blocks, of which there are at least as many as threads that have entered and
///   have no block yet.
/// - A free sets the block's bit, and then lowers the count. The thread that lowers it to 0 tries
///   to replace {class, 0} by 0: one thread wins this, unless another has entered in between. The
///   winner has the segment alone, and returns it to the free ones.
/// A state that is what it was when it was read is true now, whatever happened in between: there is
/// no ABA.
///
/// **The trees of classes are hints.** A segment is listed when it gets room, and taken off the
/// list when it has none. A thread that takes it off looks at its state again, and lists it if it
/// has room after all (bit_tree.cuh has the argument, which is the same). A stale entry costs a
/// search one look at a state; and before a request is refused, it looks at all states.
///
/// **Memory order.** What was done to a block, and to a segment, reaches the next owner:
/// - from the owner of a block to the next by the block's bit: set with a release, cleared with an
///   acquire;
/// - from all users of a segment to the thread that takes it apart by its state: each lowering is
///   a release, all changes are read-modify-writes, and the winner acquires;
/// - from there to the next owner by the bit in the tree of free segments, likewise;
/// - from the thread that divides a segment to those that enter it by its state.
///
/// **Refusals.** insist() repeats a search in vain as long as another thread hides what it is about
/// to publish (parts/moves.cuh), for kRounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/segments/bit_tree.cuh"
#include "allocators/segments/layout.cuh"

namespace heapwood::allocators::segments {

/// A segment's state: 0, if it is free or the inner part of a run; kRun and the segments of a run,
/// in its first one; or the class + 1 << kClassShift and the blocks in use.
using SegmentState = std::uint32_t;
inline constexpr SegmentState kRun = SegmentState{1} << 31;
inline constexpr std::uint32_t kClassShift = 24;
inline constexpr SegmentState kUsed = (SegmentState{1} << kClassShift) - 1;

/// The state of a segment of which so many blocks are in use.
HEAPWOOD_INLINE SegmentState divided(std::uint32_t k, std::uint32_t used) {
    return (k + 1) << kClassShift | used;
}

template <class>
class SegmentPool;

/// All segments of a pool. A block's number is that of its segment times the blocks of class 0 in
/// one, plus its own there.
template <class Policy>
class Segments {
    using State = platform::AtomicRef<SegmentState>;
    using Bits = platform::AtomicRef<std::uint64_t>;

public:
    HEAPWOOD_INLINE const Layout& layout() const { return layout_; }
    HEAPWOOD_INLINE std::uint64_t bytes() const {
        return std::uint64_t{count_} << layout_.segment_shift;
    }
    /// Counts what hides segments or slices for a moment.
    HEAPWOOD_INLINE Moves moves() const { return Moves(*moves_); }

    HEAPWOOD_INLINE char* segment(std::uint32_t i) const {
        return pool_ + (std::uint64_t{i} << layout_.segment_shift);
    }
    HEAPWOOD_INLINE char* block(std::uint32_t number, std::uint32_t k) const {
        const std::uint32_t j = number & (layout_.blocks(0) - 1);
        return segment(number >> layout_.blocks_shift()) + (j << layout_.block_shift(k));
    }
    HEAPWOOD_INLINE std::uint32_t segment_of(const void* p) const {
        return static_cast<std::uint32_t>(offset(p) >> layout_.segment_shift);
    }
    HEAPWOOD_INLINE std::uint32_t count() const { return count_; }
    /// Of the segment of a block; kNone if it is not divided. True as long as the block is in use;
    /// of any other a hint.
    HEAPWOOD_INLINE std::uint32_t class_of(std::uint32_t block) const {
        const SegmentState w = State(states_[block >> layout_.blocks_shift()]).load_relaxed();
        return w >= kRun ? kNone : (w >> kClassShift) - 1;
    }
    /// The class of the segment in which p lies; kNone if it is not divided. As class_of().
    HEAPWOOD_INLINE std::uint32_t class_at(const void* p) const {
        return class_of(segment_of(p) << layout_.blocks_shift());
    }
    /// Whether a slice of class k begins at p.
    HEAPWOOD_INLINE bool begins_slice(const void* p, std::uint32_t k) const {
        return (offset(p) & ((std::uint64_t{1} << (Layout::kSliceShift + k)) - 1)) == 0;
    }
    /// The block of class k in which p lies.
    HEAPWOOD_INLINE std::uint32_t block_of(const void* p, std::uint32_t k) const {
        const auto within = static_cast<std::uint32_t>(offset(p)) & (layout_.segment_bytes() - 1);
        return (segment_of(p) << layout_.blocks_shift()) + (within >> layout_.block_shift(k));
    }

    // All of these are seldom called, and out of line, so that they cost callers no registers; they
    // take contexts by value, so that theirs need not lie in memory.

    /// A block of class k, with all that was done to it before. kNone: it has found none, and has
    /// looked at every segment if it was to be `thorough`.
    HEAPWOOD_NOINLINE std::uint32_t take_block(Context context, std::uint32_t k,
                                               bool thorough) const {
        const BitTree tree = listed(k);
        // Callers of different multiprocessors begin at different segments.
        std::uint32_t i = tree.find(context.multiprocessor * Policy::kStride % count_);
        if (i == kNone) i = tree.find(0);
        for (std::uint32_t tries = 0; i != kNone && tries < Policy::kTries; ++tries) {
            const std::uint32_t number = enter(context, i, k);
            if (number != kNone) return number;
            unlist(i, k);
            i = tree.find(0);
        }
        for (i = 0; thorough && i < count_; ++i) {
            const std::uint32_t number = enter(context, i, k);
            if (number != kNone) return number;
        }
        return divide(k);
    }
    /// Whether take_block() sees anything to try: a look without a trace, for a search in vain that
    /// counted as a move would hold up the refusals of all others.
    HEAPWOOD_NOINLINE bool may_have_block(std::uint32_t k, bool thorough) const {
        if (listed(k).find(0) != kNone || free().find(0) != kNone) return true;
        for (std::uint32_t i = 0; thorough && i < count_; ++i) {
            if (has_room(State(states_[i]).load_relaxed(), k)) return true;
        }
        return false;
    }
    /// Of its owner.
    HEAPWOOD_NOINLINE void return_block(std::uint32_t number, std::uint32_t k) const {
        const std::uint32_t i = number >> layout_.blocks_shift();
        const std::uint32_t j = number & (layout_.blocks(0) - 1);
        Policy::pause();
        // Release: what was done to the block, to the thread that clears its bit.
        bits(i, j / 64).set_release(std::uint64_t{1} << j % 64);
        leave(i, k);
    }
    /// `n` free segments in a row, the last that there are. @return the first; kNone: found none.
    HEAPWOOD_NOINLINE std::uint32_t take_run(std::uint32_t n) const {
        std::uint64_t leaves = 0;
        std::uint32_t run = 0;
        for (std::uint32_t i = count_; i-- > 0;) {
            if (i % 64 == 63 || i == count_ - 1) leaves = free().leaves(i / 64);
            run = (leaves >> i % 64 & 1U) != 0 ? run + 1 : 0;
            if (run < n) continue;
            if (claim(i, n)) return i;
            run = 0;
        }
        return kNone;
    }
    /// Of its owner.
    HEAPWOOD_NOINLINE void return_run(std::uint32_t i, std::uint32_t n) const {
        // Relaxed: the next owner acquires the segment's bit.
        State(states_[i]).store_relaxed(0);
        Policy::pause();
        for_each_word(i, i + n, [&](std::uint32_t word, std::uint64_t part) {
            // Release: what was done to the segments, to the threads that clear their bits.
            free().set(word, part);
            return true;
        });
    }

    /// A block, or a run, for a request above slices. nullptr: it has found none, and has looked at
    /// every segment if it was to be `thorough`.
    HEAPWOOD_NOINLINE void* take_large(Context context, std::size_t bytes, bool thorough) const {
        if (bytes > layout_.segment_bytes()) {
            const std::uint32_t first =
                take_run(static_cast<std::uint32_t>(layout_.segments_for(bytes)));
            return first == kNone ? nullptr : segment(first);
        }
        const std::uint32_t k = layout_.block_class(static_cast<std::uint32_t>(bytes));
        const std::uint32_t number = take_block(context, k, thorough);
        return number == kNone ? nullptr : block(number, k);
    }
    /// Of its owner.
    HEAPWOOD_NOINLINE void return_large(void* p, std::size_t bytes) const {
        if (bytes > layout_.segment_bytes()) {
            return return_run(segment_of(p),
                              static_cast<std::uint32_t>(layout_.segments_for(bytes)));
        }
        const std::uint32_t k = layout_.block_class(static_cast<std::uint32_t>(bytes));
        return_block(block_of(p, k), k);
    }
    /// Searches as insist() of parts/moves.cuh, for kRounds.
    template <class Take, class Again>
    HEAPWOOD_FN bool insist(Take&& take, Again&& again) const {
        return allocators::insist(
            Policy::kRounds, [this] { return moves(); }, take, again);
    }

private:
    friend class SegmentPool<Policy>;

    HEAPWOOD_INLINE BitTree tree(std::uint32_t number) const {
        return {trees_ + std::uint64_t{number} * shape_.words(), shape_};
    }
    HEAPWOOD_INLINE BitTree free() const { return tree(0); }
    HEAPWOOD_INLINE BitTree listed(std::uint32_t k) const { return tree(k + 1); }
    HEAPWOOD_INLINE std::uint64_t offset(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_);
    }
    /// Words of bits that a segment has.
    HEAPWOOD_INLINE std::uint32_t bit_words() const {
        return platform::ceil_div(layout_.blocks(0), 64U);
    }
    HEAPWOOD_INLINE Bits bits(std::uint32_t i, std::uint32_t word) const {
        return Bits(bits_[std::uint64_t{i} * bit_words() + word]);
    }
    HEAPWOOD_INLINE bool has_room(SegmentState w, std::uint32_t k) const {
        return w >= divided(k, 0) && w < divided(k, layout_.blocks(k));
    }

    /// Takes a block of a segment, if it has one of that class.
    HEAPWOOD_FN std::uint32_t enter(const Context& context, std::uint32_t i,
                                    std::uint32_t k) const {
        const State state(states_[i]);
        for (SegmentState w = state.load_relaxed(); has_room(w, k);) {
            Policy::pause();
            // Acquire: the segment, from the thread that divided it.
            if (!state.cas_acquire(w, w + 1)) continue;
            Policy::pause();
            if (w + 1 == divided(k, layout_.blocks(k))) unlist(i, k);
            return take_bit(context, i, k);
        }
        return kNone;
    }
    /// For a thread that has entered. kNone: others have taken all blocks that it looked at and
    /// freed such that it had passed.
    HEAPWOOD_FN std::uint32_t take_bit(const Context& context, std::uint32_t i,
                                       std::uint32_t k) const {
        const std::uint32_t words = platform::ceil_div(layout_.blocks(k), 64U);
        for (std::uint32_t tries = 0; tries < Policy::kTries * words; ++tries) {
            const std::uint32_t word = (context.multiprocessor + tries) % words;
            for (std::uint64_t w = bits(i, word).load_relaxed(); w != 0;) {
                const std::uint64_t bit = w & (0 - w);
                Policy::pause();
                // Acquire: what was done to the block before its bit was set.
                w = bits(i, word).and_acquire(~bit);
                if ((w & bit) == 0) continue;
                return (i << layout_.blocks_shift()) + word * 64 + platform::lowest_bit(bit);
            }
        }
        moves().begin();
        leave(i, k);
        moves().end();
        return kNone;
    }
    /// Of a thread that is counted, and no more from now on.
    HEAPWOOD_FN void leave(std::uint32_t i, std::uint32_t k) const {
        Policy::pause();
        // Release: all that was done to the segment, to the thread that takes it apart.
        const SegmentState w = State(states_[i]).sub_release(1);
        if (w == divided(k, 1) && retire(i, k)) return;
        Policy::pause();
        if (w == divided(k, layout_.blocks(k))) listed(k).set(i);
    }
    /// Takes a segment apart, if none of its blocks is in use. @return whether it has.
    HEAPWOOD_FN bool retire(std::uint32_t i, std::uint32_t k) const {
        moves().begin();
        Policy::pause();
        SegmentState w = divided(k, 0);
        // Acquire: what was done to the segment by all.
        const bool won = State(states_[i]).cas_acquire(w, 0);
        if (won) {
            listed(k).clear(i);
            Policy::pause();
            // Release: that, to the next owner.
            free().set(i);
        }
        moves().end();
        return won;
    }
    /// Takes a segment off the list of a class, unless it has room.
    HEAPWOOD_FN void unlist(std::uint32_t i, std::uint32_t k) const {
        listed(k).clear(i);
        Policy::pause();
        // Relaxed: the states of those that have listed it before are acquired by then.
        if (has_room(State(states_[i]).load_relaxed(), k)) listed(k).set(i);
    }
    /// Divides a free segment. @return its first block, which the caller has; kNone: there is none.
    HEAPWOOD_FN std::uint32_t divide(std::uint32_t k) const {
        std::uint32_t i = free().find(0);
        if (i == kNone) return kNone;
        moves().begin();
        Policy::pause();
        // Acquire: what was done to the segment.
        while (i != kNone && !free().clear(i)) i = free().find(0);
        if (i == kNone) {
            moves().end_in_vain();
            return kNone;
        }
        const std::uint32_t blocks = layout_.blocks(k);
        for (std::uint32_t word = 0; word * 64 < blocks; ++word) {
            const std::uint64_t all =
                word * 64 + 64 <= blocks ? ~std::uint64_t{0} : (std::uint64_t{1} << blocks) - 1;
            bits(i, word).store_relaxed(word == 0 ? all - 1 : all);
        }
        Policy::pause();
        // Release: the bits, and what was done to the segment, to those that enter.
        State(states_[i]).store_release(divided(k, 1));
        Policy::pause();
        if (blocks > 1) listed(k).set(i);
        moves().end();
        return i << layout_.blocks_shift();
    }
    /// Makes a run of n segments from i on, if they are free.
    HEAPWOOD_FN bool claim(std::uint32_t i, std::uint32_t n) const {
        moves().begin();
        std::uint32_t end = i;
        const bool all = for_each_word(i, i + n, [&](std::uint32_t word, std::uint64_t part) {
            Policy::pause();
            // Acquire: what was done to the segments.
            const std::uint64_t got = free().clear(word, part);
            if (got != part) {
                if (got != 0) free().set(word, got);
                return false;
            }
            end = (word + 1) * 64;
            return true;
        });
        // Relaxed: it is the caller's alone, and nobody reads it before the run is returned.
        if (all) State(states_[i]).store_relaxed(kRun | n);
        if (!all && end > i) {
            for_each_word(i, end, [&](std::uint32_t word, std::uint64_t part) {
                free().set(word, part);
                return true;
            });
        }
        moves().end();
        return all;
    }
    /// Calls act(word, bits) for each leaf word of the numbers from `begin` to before `end`, as
    /// long as it returns true. @return whether it always has.
    template <class Act>
    HEAPWOOD_FN static bool for_each_word(std::uint32_t begin, std::uint32_t end, Act&& act) {
        while (begin < end) {
            const std::uint32_t last = (end - 1) / 64 == begin / 64 ? (end - 1) % 64 : 63;
            const std::uint64_t part = ~std::uint64_t{0} >> (63 - last) & ~std::uint64_t{0}
                                                                              << begin % 64;
            if (!act(begin / 64, part)) return false;
            begin = begin / 64 * 64 + 64;
        }
        return true;
    }

    char* pool_;
    SegmentState* states_;
    std::uint64_t* bits_;   // of free blocks, bit_words() for each segment
    std::uint64_t* trees_;  // of free segments; then of each class
    std::uint64_t* moves_;
    TreeShape shape_;
    Layout layout_;
    std::uint32_t count_;
};

}  // namespace heapwood::allocators::segments
