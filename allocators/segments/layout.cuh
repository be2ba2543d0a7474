/// @file
/// The sizes of segments: a segment is divided into blocks of one class, a block into slices.
///
/// A slice of class k has 16 * 2^k bytes. A block of any class has the same number of slices; so a
/// segment has half as many blocks of class k + 1 as of class k, and of the last class one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::segments {

/// No segment, or no block.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// What a request is answered by, if it is small: `count` slices of class `k` in a row.
struct Slices {
    std::uint32_t k;
    std::uint32_t count;  ///< at most 16
};

/// All sizes of a pool. Shifts are logarithms to base 2.
struct Layout {
    static constexpr std::uint32_t kSliceShift = 4;  ///< of the smallest slice

    std::uint32_t segment_shift;  ///< bytes of a segment
    std::uint32_t slices_shift;   ///< slices of a block

    /// Blocks of class 0 in a segment.
    HEAPWOOD_INLINE std::uint32_t blocks_shift() const {
        return segment_shift - slices_shift - kSliceShift;
    }
    HEAPWOOD_INLINE std::uint32_t classes() const { return blocks_shift() + 1; }
    HEAPWOOD_INLINE std::uint32_t slices() const { return 1U << slices_shift; }
    HEAPWOOD_INLINE std::uint32_t blocks(std::uint32_t k) const {
        return 1U << (blocks_shift() - k);
    }
    /// Bytes of a block.
    HEAPWOOD_INLINE std::uint32_t block_shift(std::uint32_t k) const {
        return kSliceShift + slices_shift + k;
    }
    HEAPWOOD_INLINE std::uint32_t segment_bytes() const { return 1U << segment_shift; }

    /// Bytes of the largest request that is answered by slices. Between the largest slice and the
    /// smallest block it takes several of the largest ones.
    HEAPWOOD_INLINE std::uint32_t slice_limit() const {
        const std::uint32_t largest = 1U << (kSliceShift + blocks_shift());
        const std::uint32_t below_block = (1U << block_shift(0)) - 1;
        return largest > below_block ? largest : below_block;
    }
    /// For `bytes` bytes, from 1 to slice_limit().
    HEAPWOOD_INLINE Slices slices_of(std::uint32_t bytes) const {
        const std::uint32_t last = blocks_shift();
        const std::uint32_t k = log_of(bytes) - kSliceShift;
        if (k <= last) return {k, 1};
        return {last, ((bytes - 1) >> (kSliceShift + last)) + 1};
    }
    /// The class whose blocks have at least `bytes` bytes, from slice_limit() + 1 to a segment's.
    HEAPWOOD_INLINE std::uint32_t block_class(std::uint32_t bytes) const {
        return log_of(bytes) - block_shift(0);
    }
    /// Segments for so many bytes.
    HEAPWOOD_INLINE std::uint64_t segments_for(std::size_t bytes) const {
        return ((bytes - 1) >> segment_shift) + 1;
    }
    /// What a request of `bytes` bytes, not 0, takes.
    HEAPWOOD_INLINE std::uint64_t granted_bytes(std::size_t bytes) const {
        if (bytes > segment_bytes()) return segments_for(bytes) << segment_shift;
        const auto size = static_cast<std::uint32_t>(bytes);
        if (size > slice_limit()) return 1U << block_shift(block_class(size));
        const Slices had = slices_of(size);
        return had.count << (kSliceShift + had.k);
    }

private:
    /// Of the power of two from 16 on that is not below `bytes`.
    HEAPWOOD_INLINE static std::uint32_t log_of(std::uint32_t bytes) {
        return platform::floor_log2((bytes - 1) | 15U) + 1;
    }
};

}  // namespace heapwood::allocators::segments
