/// @file
/// The part of DynaSOAr that runs in kernels: which block (blocks.cuh) a request takes slices of.
/// dynasoar.cuh says what it is made of and after whom.
///
/// **Which block.** A request first tries the block at the hint of its class and multiprocessor,
/// then up to kRetries active blocks from there on; then it opens a block, which becomes the hint.
/// Lanes that ask for the same class at the same time have one of them take slices for all; a lane
/// that is left over asks again, and so do all if the slices are of another class.
///
/// **Progress.** No step waits for another thread. When the pool has no block left, a request looks
/// at all active blocks of its class and at all segments. It is refused when that yields nothing,
/// no block of the class is listed, and no other thread hides what it is about to publish
/// (parts/moves.cuh); or after kRounds, in the last of which it looks at all blocks, listed or not:
/// so a thread that is stalled hides no more than a slice, or the block that it opens or returns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/dynasoar/blocks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"

namespace heapwood::allocators::dynasoar {

/// The handle that kernels use.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 >= slice_limit_) return allocate_large(context, bytes);  // or 0
        const std::uint32_t k = layout().slices_of(static_cast<std::uint32_t>(bytes)).k;
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const platform::Lanes lanes(hint(context, k));
            Claim claim;
            if (lanes.rank() == 0) {
                claim = find(context, k, lanes.count());
                if (claim.slices == 0) claim = supply(context, k, lanes.count());
                if (claim.slices != 0 && !blocks_.accept(claim, k)) claim.slices = 0;
            }
            claim = {lanes.of_leader(claim.block), lanes.of_leader(claim.slices)};
            lanes.sync();
            if (claim.block == kNone) return nullptr;
            if (lanes.rank() < platform::popcount(claim.slices)) {
                const std::uint64_t slice = platform::bit_of_rank(claim.slices, lanes.rank());
                return segments().block(claim.block, k) + (slice << slice_shift(k));
            }
        }
        return nullptr;
    }
    HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > slice_limit_) return segments().return_large(p, bytes);
        const std::uint32_t k = layout().slices_of(static_cast<std::uint32_t>(bytes)).k;
        const std::uint32_t block = segments().block_of(p, k);
        const auto offset = static_cast<char*>(p) - segments().block(block, k);
        blocks_.give_back(block, k, std::uint64_t{1} << (offset >> slice_shift(k)));
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return p == nullptr ? 0 : layout().granted_bytes(bytes);
    }

    /// See heap/known_blocks.cuh. A segment may have blocks of slices beside blocks that are given
    /// as a whole, which nothing tells apart; but none of the classes below the first of the
    /// latter.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const {
        const std::uint32_t k = segments().class_at(p);
        if (k >= first_whole() || !segments().begins_slice(p, k)) return 0;  // kNone is more
        return std::uint64_t{1} << slice_shift(k);
    }
    HEAPWOOD_FN std::size_t largest_known() const {
        return first_whole() == 0 ? 0 : std::size_t{1} << slice_shift(first_whole() - 1);
    }

private:
    friend class BasicDynaSOAr<Policy>;

    HEAPWOOD_INLINE const Segments<Policy>& segments() const { return blocks_.segments(); }
    HEAPWOOD_INLINE const Layout& layout() const { return blocks_.layout(); }
    /// The class of the smallest block that is given as a whole.
    HEAPWOOD_INLINE std::uint32_t first_whole() const {
        return layout().block_class(slice_limit_ + 1);
    }
    HEAPWOOD_INLINE static std::uint32_t slice_shift(std::uint32_t k) {
        return Layout::kSliceShift + k;
    }

    // What is rare or long is out of line, so that it costs callers no registers, and takes
    // contexts by value, so that theirs need not lie in memory.

    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> hint(const Context& context,
                                                            std::uint32_t k) const {
        return platform::AtomicRef<std::uint32_t>(
            hints_[k * (hint_mask_ + 1) + (context.multiprocessor & hint_mask_)]);
    }
    /// Up to n slices of the block at the hint, or of the next active ones.
    HEAPWOOD_NOINLINE Claim find(Context context, std::uint32_t k, std::uint32_t n) const {
        std::uint32_t block = hint(context, k).load_relaxed();
        Claim claim = blocks_.take(block, k, n, context.warp);
        for (std::uint32_t i = 0; claim.slices == 0 && i < Policy::kRetries; ++i) {
            block = blocks_.active(k).find(block + 1);
            if (block == kNone) block = blocks_.active(k).find(0);
            if (block == kNone) break;
            claim = blocks_.take(block, k, n, context.warp);
            if (claim.slices != 0) hint(context, k).store_relaxed(block);
        }
        return claim;
    }
    /// Up to n slices of a block that is opened, or of any. None: there are none to be had.
    HEAPWOOD_NOINLINE Claim supply(Context context, std::uint32_t k, std::uint32_t n) const {
        Claim claim = blocks_.open(context, k, n, false);
        const auto search = [&](bool last) {
            for (std::uint32_t block = blocks_.active(k).find(0);
                 block != kNone && claim.slices == 0; block = blocks_.active(k).find(block + 1)) {
                claim = blocks_.take(block, k, n, context.warp);
            }
            if (claim.slices == 0) claim = blocks_.open(context, k, n, true);
            if (claim.slices == 0 && last) claim = blocks_.take_any(k, n, context.warp);
            return claim.slices != 0;
        };
        const auto is_listed = [&] { return blocks_.active(k).find(0) != kNone; };
        if (claim.slices != 0 || segments().insist(search, is_listed)) {
            hint(context, k).store_relaxed(claim.block);
        }
        return claim;
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > segments().bytes()) return nullptr;
        void* p = segments().take_large(context, bytes, false);
        if (p != nullptr) return p;
        segments().insist(
            [&](bool) {
                p = segments().take_large(context, bytes, true);
                return p != nullptr;
            },
            [] { return false; });
        return p;
    }

    Blocks<Policy> blocks_;
    std::uint32_t* hints_;  // blocks, for each class and group of multiprocessors
    std::uint32_t slice_limit_;
    std::uint32_t hint_mask_;
};

}  // namespace heapwood::allocators::dynasoar
