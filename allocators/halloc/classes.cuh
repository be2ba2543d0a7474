/// @file
/// Halloc's size classes: 16, 32, 48, 64, 96, 128, ... 49152, 65536 bytes.
///
/// Published are 16, 24, 32, 48, ... 3072: a piece of 24 bytes would start at multiples of 8 only,
/// so 17 to 24 bytes are of the class of 32. The numbers of the classes are those of the published
/// list; number 1 has no piece. Those above 3072 are ours (HallocPolicy::kLargestPiece).
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::halloc {

/// How many numbers of classes there are.
inline constexpr std::uint32_t kClasses = 25;

/// A class of sizes: its pieces have 2^n bytes, or 3 * 2^n.
class SizeClass {
public:
    /// The smallest one for `bytes` bytes, from 1 to 65536.
    HEAPWOOD_INLINE static SizeClass of(std::uint32_t bytes) {
        const std::uint32_t last = (bytes - 1) | 15U;
        const std::uint32_t log = platform::floor_log2(last);
        return SizeClass(2 * log + (last >> (log - 1) & 1U) - kFirst);
    }
    HEAPWOOD_INLINE explicit SizeClass(std::uint32_t number) : number_(number) {}

    HEAPWOOD_INLINE std::uint32_t number() const { return number_; }
    /// Bytes of a piece.
    HEAPWOOD_INLINE std::uint32_t bytes() const { return (is_power() ? 4U : 3U) << shift(); }
    /// The number of the piece that starts so many bytes, a multiple of bytes(), from the first.
    HEAPWOOD_INLINE std::uint32_t piece_at(std::uint32_t offset) const {
        // Of a multiple of 3, the product with the inverse of 3 modulo 2^32 is the quotient.
        const std::uint32_t parts = offset >> shift();
        return is_power() ? parts >> 2 : parts * 0xaaaaaaabU;
    }

private:
    static constexpr std::uint32_t kFirst = 7;  // 16 bytes: the last one is 15 = 2^3 + 4 + ...

    HEAPWOOD_INLINE bool is_power() const { return ((number_ + kFirst) & 1U) != 0; }
    /// Log2 of a quarter, or a third, of a piece.
    HEAPWOOD_INLINE std::uint32_t shift() const { return ((number_ + kFirst) >> 1) - 1; }

    std::uint32_t number_;
};

}  // namespace heapwood::allocators::halloc
