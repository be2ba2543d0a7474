/// @file
/// The size classes of LLVM's libc for GPUs: powers of two times 1, 1.5 and 1.75, from 16 bytes.
///
/// A piece starts at a multiple of 16 bytes, so 24, 28 and 56 bytes have no class: requests of 17
/// to 32 bytes are of the class of 32, those of 49 to 64 bytes of that of 64.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::llvm_libc {

/// Numbers of classes are from 1 to below this. 2, 3 and 6 have no pieces.
inline constexpr std::uint32_t kClasses = 47;

/// A class of sizes: its pieces have 2^n bytes, 3 * 2^n or 7 * 2^n.
class SizeClass {
public:
    /// The smallest one for `bytes` bytes, from 1 to 512 KiB.
    HEAPWOOD_INLINE static SizeClass of(std::uint32_t bytes) {
        const std::uint32_t last = (bytes - 1) | 15U;
        const std::uint32_t log = platform::floor_log2(last);
        const std::uint32_t quarter = last >> (log - 2) & 3U;
        return SizeClass(3 * log + (quarter < 2 ? 0 : quarter - 1) - kFirst);
    }
    HEAPWOOD_INLINE explicit SizeClass(std::uint32_t number) : number_(number) {}

    HEAPWOOD_INLINE std::uint32_t number() const { return number_; }
    /// Bytes of a piece.
    HEAPWOOD_INLINE std::uint32_t bytes() const { return odd() << shift(); }
    /// The number of the piece that starts so many bytes, a multiple of bytes(), from the first.
    HEAPWOOD_INLINE std::uint32_t piece_at(std::uint32_t offset) const {
        // Of a multiple of an odd number, the product with its inverse modulo 2^32 is the quotient.
        constexpr std::uint32_t kInverseOf3 = 0xaaaaaaabU;
        constexpr std::uint32_t kInverseOf7 = 0xb6db6db7U;
        const std::uint32_t parts = offset >> shift();
        return part() == 2 ? parts : parts * (part() == 0 ? kInverseOf3 : kInverseOf7);
    }

private:
    static constexpr std::uint32_t kFirst = 10;  // 16 bytes: the last one is 15 = 2^3 + 7

    /// Log2 of the last byte's number.
    HEAPWOOD_INLINE std::uint32_t log() const { return (number_ + kFirst) / 3; }
    /// 0: 1.5 times this power of two; 1: 1.75 times; 2: twice.
    HEAPWOOD_INLINE std::uint32_t part() const { return (number_ + kFirst) % 3; }
    HEAPWOOD_INLINE std::uint32_t odd() const { return part() == 2 ? 1 : part() == 0 ? 3 : 7; }
    HEAPWOOD_INLINE std::uint32_t shift() const {
        return part() == 2 ? log() + 1 : log() - 1 - part();
    }

    std::uint32_t number_;
};

}  // namespace heapwood::allocators::llvm_libc
