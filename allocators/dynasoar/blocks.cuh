/// @file
/// DynaSOAr's blocks in kernels: slices of one size, the free ones as bits of one word, and a tree
/// for each class of the blocks that have any.
///
/// **A block's life.** A block of a class is taken from the segments (segments/segments.cuh). Its
/// word is 0 then. The thread that has taken it keeps slices for itself and stores the bits of the
/// others: now the block is open. A request clears bits, and has those slices whose bits it found
/// set; a free sets them again. The thread that sees all bits set tries to replace them by 0: one
/// thread wins this, unless a slice has been taken in between. The winner has the block alone, and
/// returns it to its segment.
///
/// **Late requests.** Between a request's look at a tree and its clearing of bits, the block may
/// have returned, and be open again. Of a word of 0 the request gets nothing. If it gets bits, the
/// block is open as long as it has them, so that its segment tells its class: the right one, and
/// the slices are the request's in good order; or another, and it sets the bits again, as a free
/// does. Likewise the thread that replaces a full word may come late: it returns whatever block it
/// then has. So no step depends on what a block was before: there is no ABA.
///
/// **The trees are hints, but complete.** A block is listed when it is opened, and by a free that
/// does not find it listed. The thread that takes the last slice takes it off the list, looks at
/// the word again, and lists it if there is a slice after all. This look is an update of the word,
/// as each free is: so either it sees the slice, or the free sees that the block is not listed. A
/// block of another class, or without free slices, may be listed for a while; a search that meets
/// it takes it off.
///
/// **Memory order.** What was done to a slice reaches its next owner by its bit: set with a
/// release, cleared with an acquire. All changes of an open block's word are read-modify-writes,
/// so the thread that replaces a full word acquires all that was done to any slice, and passes it
/// on by the segment's bits. What the opener has acquired it passes on by the store of the word.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/segments/bit_tree.cuh"
#include "allocators/segments/layout.cuh"
#include "allocators/segments/segments.cuh"

namespace heapwood::allocators {
template <class>
class BasicDynaSOAr;
}

namespace heapwood::allocators::dynasoar {

using segments::BitTree;
using segments::kNone;
using segments::Layout;
using segments::Segments;
using segments::TreeShape;

/// Slices of one block that the caller has.
struct Claim {
    std::uint32_t block = kNone;
    std::uint64_t slices = 0;  ///< bits; 0: none
};

/// All blocks of slices. Policy::pause() is called between any two steps that other threads may
/// come between, and does something in tests only.
template <class Policy>
class Blocks {
public:
    HEAPWOOD_INLINE const Segments<Policy>& segments() const { return segments_; }
    HEAPWOOD_INLINE const Layout& layout() const { return segments_.layout(); }
    /// The blocks of a class that have free slices.
    HEAPWOOD_INLINE BitTree active(std::uint32_t k) const {
        return {trees_ + std::uint64_t{k} * shape_.words(), shape_};
    }

    // What follows is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// Up to n slices of a block, if it is of class k and has any, from slice `first` on. For
    /// accept() before they are used.
    HEAPWOOD_NOINLINE Claim take(std::uint32_t block, std::uint32_t k, std::uint32_t n,
                                 std::uint32_t first) const {
        if (segments_.class_of(block) == k) {
            std::uint64_t w = bits(block).load_relaxed();
            for (std::uint32_t tries = 0; w != 0 && tries < Policy::kTries; ++tries) {
                const std::uint64_t wanted =
                    platform::some_bits(w, n, first & (layout().slices() - 1));
                Policy::pause();
                // Acquire: what was done to the slices, and the block, from its opener.
                w = bits(block).and_acquire(~wanted);
                const std::uint64_t got = w & wanted;
                w &= ~wanted;
                if (got == 0) continue;
                if (w == 0) unlist(block, k);
                return {block, got};
            }
            if (w != 0) return {};
        }
        if (active(k).has(block)) unlist(block, k);
        return {};
    }
    /// Whether slices that were taken are of class k. If not, gives them back.
    HEAPWOOD_INLINE bool accept(const Claim& claim, std::uint32_t k) const {
        Policy::pause();
        const std::uint32_t actual = segments_.class_of(claim.block);
        if (actual == k) return true;
        give_back(claim.block, actual, claim.slices);
        return false;
    }
    /// Frees slices of a block of class k.
    HEAPWOOD_NOINLINE void give_back(std::uint32_t block, std::uint32_t k,
                                     std::uint64_t slices) const {
        Policy::pause();
        // Release: what was done to the slices. Acquire: that the block was taken off the list.
        const std::uint64_t before = bits(block).or_acq_rel(slices);
        Policy::pause();
        if ((before | slices) == all() && retire(block)) return;
        if (!active(k).has(block)) active(k).set(block);
    }
    /// Opens a block, of which the caller has up to n slices.
    HEAPWOOD_NOINLINE Claim open(Context context, std::uint32_t k, std::uint32_t n,
                                 bool thorough) const {
        if (!segments_.may_have_block(k, thorough)) return {};
        segments_.moves().begin();
        Policy::pause();
        const std::uint32_t block = segments_.take_block(context, k, thorough);
        if (block == kNone) {
            segments_.moves().end_in_vain();
            return {};
        }
        const std::uint64_t own = platform::some_bits(all(), n, 0);
        Policy::pause();
        // Release: the block, to those that take slices.
        bits(block).store_release(all() & ~own);
        Policy::pause();
        if (own != all()) active(k).set(block);
        segments_.moves().end();
        return {block, own};
    }
    /// Up to n slices of any block of class k; looks at all blocks, listed or not.
    HEAPWOOD_NOINLINE Claim take_any(std::uint32_t k, std::uint32_t n, std::uint32_t first) const {
        const std::uint32_t shift = layout().blocks_shift();
        for (std::uint32_t i = 0; i < segments_.count(); ++i) {
            if (segments_.class_of(i << shift) != k) continue;
            for (std::uint32_t j = 0; j < layout().blocks(k); ++j) {
                const Claim claim = take((i << shift) + j, k, n, first);
                if (claim.slices != 0) return claim;
            }
        }
        return {};
    }

private:
    friend class BasicDynaSOAr<Policy>;

    using Bits = platform::AtomicRef<std::uint64_t>;

    HEAPWOOD_INLINE Bits bits(std::uint32_t block) const { return Bits(bits_[block]); }
    /// The bits of all slices of a block.
    HEAPWOOD_INLINE std::uint64_t all() const {
        return ~std::uint64_t{0} >> (64 - layout().slices());
    }
    /// Returns a block of which no slice is in use. @return false: another thread was quicker
    HEAPWOOD_NOINLINE bool retire(std::uint32_t block) const {
        segments_.moves().begin();
        Policy::pause();
        std::uint64_t w = all();
        // Acquire: what was done to all slices.
        if (!bits(block).cas_acquire(w, 0)) {
            segments_.moves().end_in_vain();
            return false;
        }
        const std::uint32_t k = segments_.class_of(block);
        Policy::pause();
        active(k).clear(block);
        segments_.return_block(block, k);
        segments_.moves().end();
        return true;
    }
    /// Takes a block off the list of class k, unless it has free slices of that class.
    HEAPWOOD_NOINLINE void unlist(std::uint32_t block, std::uint32_t k) const {
        segments_.moves().begin();
        Policy::pause();
        active(k).clear(block);
        Policy::pause();
        // An update, for that never sees an old word. Release: that the block is not listed, to
        // those that free slices after it.
        const bool has_room = bits(block).or_acq_rel(0) != 0;
        if (has_room && segments_.class_of(block) == k) {
            active(k).set(block);
            segments_.moves().end();
        } else {
            segments_.moves().end_in_vain();
        }
    }

    Segments<Policy> segments_;
    std::uint64_t* bits_;   // of free slices, a word for each block
    std::uint64_t* trees_;  // of active blocks, for each class
    TreeShape shape_;
};

}  // namespace heapwood::allocators::dynasoar
