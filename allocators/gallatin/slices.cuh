/// @file
/// The part of Gallatin that runs in kernels: slices of blocks at heads, whole blocks, and runs of
/// segments (segments.cuh). gallatin.cuh says what it is made of and after whom.
///
/// **A block of slices.** A head is {block, slices drawn}. A request adds the slices that it wants
/// to the count, and has those that were not drawn before: nobody else can have them, however long
/// it is stalled. The block's word of live slices begins with all of them; each free lowers it, and
/// the thread that brings it to 0 returns the block. Slices that nobody has drawn count as live, so
/// a block stays where it is until they are drawn, or until the thread that takes the block off
/// its head has given them back. Only the exchange or compare-and-swap that takes it off tells how
/// many these are, so they are given back once.
///
/// **The count does not overflow.** A request adds to a head only where a load has just shown
/// enough slices. A thread that has added to a used-up count does not see it with slices again,
/// before another block is there. So a count is at most the slices of a block, and a request's of
/// each thread: below 2^13 + 2^4 * 2^22. It lies in the low half of the word and cannot reach the
/// block.
///
/// **Memory order.** The opener of a block has acquired it (segments.cuh), and publishes it by an
/// exchange of the head, a release. Each request that draws acquires it: all changes of the word
/// are read-modify-writes. Each free is a release on the word of live slices; the one that brings
/// it to 0 acquires it, and has all that was done to any slice behind it. Where one lane acts for
/// others, a sync of the group passes on to them what it has acquired, and to it what they have
/// done before.
///
/// **Progress.** One thread replaces the block of a used-up head: the one that marks the head as
/// being opened. The others draw from other heads of the class meanwhile, and after kPatience
/// pauses open a block of their own. When the pool has no block left, a request looks at all heads
/// of its class and at all segments, and takes the blocks off all heads of which no slice is in
/// use. It is refused when that yields nothing while no other thread hides what it is about to
/// publish (parts/moves.cuh); or after kRounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/gallatin/words.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"
#include "allocators/segments/layout.cuh"
#include "allocators/segments/segments.cuh"

namespace heapwood::allocators {
template <class>
class BasicGallatin;
}

namespace heapwood::allocators::gallatin {

using segments::kNone;
using segments::Layout;
using segments::Segments;
using segments::Slices;

/// The handle that kernels use.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        HeadWord drawn = kNoBlock;
        if (bytes - 1 < slice_limit_ && !Policy::is_crowded()) {
            const Slices want = layout().slices_of(static_cast<std::uint32_t>(bytes));
            drawn = draw(head(context.multiprocessor, want.k), want, 1);
            if (slices_left(drawn, layout().slices()) >= want.count) return address(drawn, want.k);
        }
        return allocate_slowly(context, bytes, drawn);
    }
    HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > slice_limit_ || Policy::is_crowded()) return deallocate_slowly(p, bytes);
        const Slices had = layout().slices_of(static_cast<std::uint32_t>(bytes));
        give_back(segments_.block_of(p, had.k), had.k, had.count);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return p == nullptr ? 0 : layout().granted_bytes(bytes);
    }

    /// See heap/known_blocks.cuh. The largest slices are not known where a request may have
    /// several.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const {
        const std::uint32_t k = segments_.class_at(p);
        const std::uint64_t slice = std::uint64_t{1} << (Layout::kSliceShift + k % 32);
        if (k == kNone || slice > largest_known() || !segments_.begins_slice(p, k)) return 0;
        // Relaxed: the owner of a whole block has written it before others have the address.
        return live(segments_.block_of(p, k)).load_relaxed() == kWhole ? 0 : slice;
    }
    HEAPWOOD_FN std::size_t largest_known() const {
        const std::size_t largest = std::size_t{1}
                                    << (Layout::kSliceShift + layout().blocks_shift());
        if (slice_limit_ <= largest) return largest;
        return layout().blocks_shift() == 0 ? 0 : largest / 2;
    }

private:
    friend class BasicGallatin<Policy>;

    /// In place of the live slices of a block that one request has as a whole.
    static constexpr std::uint32_t kWhole = ~std::uint32_t{0};

    using HeadRef = platform::AtomicRef<HeadWord>;
    using Live = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE const Layout& layout() const { return segments_.layout(); }
    /// Heads of a class: half as many as of the class before, but not fewer than fewest_heads_.
    HEAPWOOD_INLINE std::uint32_t heads_of(std::uint32_t k) const {
        const std::uint32_t n = most_heads_ >> k;
        return n > fewest_heads_ ? n : fewest_heads_;
    }
    HEAPWOOD_INLINE std::uint32_t head_of(std::uint32_t number, std::uint32_t k) const {
        return k * most_heads_ + (number & (heads_of(k) - 1));
    }
    HEAPWOOD_INLINE HeadRef head(std::uint32_t number, std::uint32_t k) const {
        return HeadRef(heads_[head_of(number, k)].word);
    }
    /// The first slice that a head gives next.
    HEAPWOOD_INLINE char* address(HeadWord w, std::uint32_t k) const {
        const std::uint64_t slice = static_cast<std::uint32_t>(w);
        return segments_.block(block_of(w), k) + (slice << (Layout::kSliceShift + k));
    }
    /// Draws for n requests, if there are slices for one. @return the head before
    HEAPWOOD_INLINE HeadWord draw(HeadRef from, Slices want, std::uint32_t n) const {
        if (slices_left(from.load_relaxed(), layout().slices()) < want.count) return kNoBlock;
        Policy::pause();
        // Acquire: the block, from the thread that opened it.
        return from.add_acquire(std::uint64_t{want.count} * n);
    }
    /// Frees slices, or those that nobody has drawn.
    HEAPWOOD_INLINE void give_back(std::uint32_t block, std::uint32_t k, std::uint32_t n) const {
        Policy::pause();
        // Release: what was done to the slices, to the thread that returns the block.
        if (live(block).sub_release(n) == n) return_block(block, k);
    }
    HEAPWOOD_INLINE Live live(std::uint32_t block) const { return Live(live_[block]); }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    HEAPWOOD_NOINLINE void return_block(std::uint32_t block, std::uint32_t k) const {
        // Acquire: what was done to all slices.
        live(block).load_acquire();
        segments_.return_block(block, k);
    }
    /// Of many lanes that are here with slices of the same block, one counts them all.
    HEAPWOOD_NOINLINE void deallocate_slowly(void* p, std::size_t bytes) const {
        if (bytes > slice_limit_) return segments_.return_large(p, bytes);
        const Slices had = layout().slices_of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t block = segments_.block_of(p, had.k);
        const platform::Lanes lanes(live(block), had.count);
        lanes.sync();
        if (lanes.rank() == 0) give_back(block, had.k, had.count * lanes.count());
    }

    /// `drawn`: the head when slices were drawn, which have not been used yet; kNoBlock: there are
    /// none, or many lanes are here, of which one draws for all that want the same of one head.
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes,
                                            HeadWord drawn) const {
        if (bytes == 0 || bytes > segments_.bytes()) return nullptr;
        void* p = nullptr;
        if (bytes > slice_limit_) {
            p = take_large(context, bytes, false);
            if (p != nullptr) return p;
            insist([&] { return p = take_large(context, bytes, true); });
            return p;
        }
        const Slices want = layout().slices_of(static_cast<std::uint32_t>(bytes));
        const HeadRef own = head(context.multiprocessor, want.k);
        p = use(drawn, want);
        for (std::uint32_t round = 0; p == nullptr && round < Policy::kRounds; ++round) {
            const platform::Lanes lanes(own, want.count);
            if (lanes.rank() == 0) drawn = supply(context, want, lanes.count());
            drawn = lanes.of_leader(drawn);
            lanes.sync();
            if (drawn == kNoBlock) break;
            p = use(drawn + want.count * lanes.rank(), want);
        }
        if (p != nullptr) return p;
        insist([&] {
            for (std::uint32_t i = 0; p == nullptr && i < heads_of(want.k); ++i) {
                p = use(draw(head(context.multiprocessor + i, want.k), want, 1), want);
            }
            if (p == nullptr) p = use(open(context, want, 1, true), want);
            return p;
        });
        return p;
    }
    /// As Segments::take_large(); and marks a whole block.
    HEAPWOOD_FN void* take_large(const Context& context, std::size_t bytes, bool thorough) const {
        void* const p = segments_.take_large(context, bytes, thorough);
        if (p != nullptr && bytes <= layout().segment_bytes()) {
            const std::uint32_t k = layout().block_class(static_cast<std::uint32_t>(bytes));
            live(segments_.block_of(p, k)).store_relaxed(kWhole);
        }
        return p;
    }
    /// What the pool still has, by take(), until it is certain that it has nothing.
    template <class Take>
    HEAPWOOD_FN void insist(Take&& take) const {
        segments_.insist([&](bool) { return take() != nullptr; }, [&] { return close_idle(); });
    }

    /// The slices that were drawn, if there were enough; else gives back what there was.
    HEAPWOOD_FN void* use(HeadWord drawn, Slices want) const {
        if (slices_left(drawn, layout().slices()) >= want.count) return address(drawn, want.k);
        abandon(drawn, want.k);
        return nullptr;
    }
    /// Draws for n requests, of which the first gets its slices, and sees to it that there are
    /// some. kNoBlock: there is no block to be had.
    HEAPWOOD_NOINLINE HeadWord supply(Context context, Slices want, std::uint32_t n) const {
        const HeadRef own = head(context.multiprocessor, want.k);
        for (std::uint32_t attempt = 0;; ++attempt) {
            HeadWord drawn = draw_enough(own, want, n);
            if (drawn != kNoBlock) return drawn;
            HeadWord w = own.load_relaxed();
            Policy::pause();
            // Acquire: the count of the block whose last slices are given back.
            if (!is_opening(w) && slices_left(w, layout().slices()) < want.count &&
                own.cas_acquire(w, kOpening)) {
                return replace(context, w, want, n);
            }
            drawn = draw_enough(head(context.multiprocessor + 1 + attempt, want.k), want, n);
            if (drawn != kNoBlock) return drawn;
            if (attempt == Policy::kPatience) return open(context, want, n, false);
            platform::back_off(attempt);
        }
    }
    /// As draw(); kNoBlock also if another request was quicker.
    HEAPWOOD_FN HeadWord draw_enough(HeadRef from, Slices want, std::uint32_t n) const {
        const HeadWord drawn = draw(from, want, n);
        if (slices_left(drawn, layout().slices()) >= want.count) return drawn;
        abandon(drawn, want.k);
        return kNoBlock;
    }
    /// Puts a block in the place of one that the caller has taken off its own head.
    HEAPWOOD_FN HeadWord replace(const Context& context, HeadWord old, Slices want,
                                 std::uint32_t n) const {
        Policy::pause();
        abandon(old, want.k);
        const HeadWord drawn = open(context, want, n, false);
        if (drawn != kNoBlock) return drawn;
        const HeadRef own = head(context.multiprocessor, want.k);
        for (HeadWord w = own.load_relaxed(); is_opening(w) && !own.cas_relaxed(w, kNoBlock);) {
        }
        return kNoBlock;
    }
    /// Puts a block at the own head, draws for n requests, and leaves the rest to all.
    HEAPWOOD_FN HeadWord open(const Context& context, Slices want, std::uint32_t n,
                              bool thorough) const {
        if (!segments_.may_have_block(want.k, thorough)) return kNoBlock;
        segments_.moves().begin();
        Policy::pause();
        const std::uint32_t block = segments_.take_block(context, want.k, thorough);
        if (block == kNone) {
            segments_.moves().end_in_vain();
            return kNoBlock;
        }
        live(block).store_relaxed(layout().slices());
        Policy::pause();
        // Release: the block, to those that draw from it. Acquire: the count of the one before.
        const HeadWord old =
            head(context.multiprocessor, want.k).exchange_acq_rel(make_head(block, want.count * n));
        abandon(old, want.k);
        segments_.moves().end();
        return make_head(block, 0);
    }
    /// Gives back what is left of a head: the caller has drawn it, or has replaced the head.
    HEAPWOOD_FN void abandon(HeadWord old, std::uint32_t k) const {
        const std::uint32_t left = slices_left(old, layout().slices());
        if (left > 0) give_back(block_of(old), k, left);
    }
    /// Takes the blocks off all heads of which no slice is in use. @return whether there was one.
    HEAPWOOD_NOINLINE bool close_idle() const {
        bool any = false;
        for (std::uint32_t i = 0; i < layout().classes() * most_heads_; ++i) {
            const HeadRef idle(heads_[i].word);
            HeadWord w = idle.load_relaxed();
            const std::uint32_t left = slices_left(w, layout().slices());
            if (left == 0 || live(block_of(w)).load_relaxed() != left) continue;
            segments_.moves().begin();
            Policy::pause();
            // Acquire: the block's count, of which the rest is taken.
            if (idle.cas_acquire(w, kNoBlock)) {
                abandon(w, i / most_heads_);
                any = true;
            }
            segments_.moves().end();
        }
        return any;
    }

    Segments<Policy> segments_;
    Head* heads_;
    std::uint32_t* live_;  // slices of each block that are in use, or that nobody has drawn
    std::uint32_t slice_limit_;
    std::uint32_t most_heads_;
    std::uint32_t fewest_heads_;
};

}  // namespace heapwood::allocators::gallatin
