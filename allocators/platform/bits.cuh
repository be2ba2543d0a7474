/// @file
/// Bit tricks of unsigned integers that a GPU and a CPU spell differently.
#pragma once

#include <bit>
#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// Number of one bits of v.
HEAPWOOD_INLINE unsigned popcount(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
    return static_cast<unsigned>(__popc(v));
#else
    return static_cast<unsigned>(std::popcount(v));
#endif
}

/// The same of a long word.
HEAPWOOD_INLINE unsigned popcount(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
    return static_cast<unsigned>(__popcll(v));
#else
    return static_cast<unsigned>(std::popcount(v));
#endif
}

/// Index of the highest one bit of v, which must not be 0.
HEAPWOOD_INLINE unsigned floor_log2(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
    return 63U - static_cast<unsigned>(__clzll(static_cast<long long>(v)));
#else
    return 63U - static_cast<unsigned>(std::countl_zero(v));
#endif
}

/// The same of a word, in half the instructions of a GPU.
HEAPWOOD_INLINE unsigned floor_log2(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
    return 31U - static_cast<unsigned>(__clz(static_cast<int>(v)));
#else
    return 31U - static_cast<unsigned>(std::countl_zero(v));
#endif
}

/// How many zero bits are above the highest one bit of v; 32 of 0.
HEAPWOOD_INLINE unsigned leading_zeros(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
    return static_cast<unsigned>(__clz(static_cast<int>(v)));
#else
    return static_cast<unsigned>(std::countl_zero(v));
#endif
}

/// Index of the lowest one bit of v, which must not be 0.
HEAPWOOD_INLINE unsigned lowest_bit(std::uint64_t v) {
#if defined(__CUDA_ARCH__)
    return static_cast<unsigned>(__ffsll(static_cast<long long>(v))) - 1U;
#else
    return static_cast<unsigned>(std::countr_zero(v));
#endif
}

/// The same of a word.
HEAPWOOD_INLINE unsigned lowest_bit(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
    return static_cast<unsigned>(__ffs(static_cast<int>(v))) - 1U;
#else
    return static_cast<unsigned>(std::countr_zero(v));
#endif
}

/// Number of the one bit of v that has `rank` one bits below it; there must be one.
HEAPWOOD_INLINE std::uint32_t bit_of_rank(std::uint64_t v, std::uint32_t rank) {
    for (; rank > 0; --rank) v &= v - 1;
    return lowest_bit(v);
}

/// Up to n one bits of v: the first ones from bit `first`, which is below 64, and round.
HEAPWOOD_INLINE std::uint64_t some_bits(std::uint64_t v, std::uint32_t n, std::uint32_t first) {
    std::uint64_t behind = v >> first << first;
    std::uint64_t before = v ^ behind;
    std::uint64_t some = 0;
    for (; n > 0 && (behind | before) != 0; --n) {
        std::uint64_t& part = behind != 0 ? behind : before;
        some |= part & (0 - part);
        part &= part - 1;
    }
    return some;
}

/// Smallest multiple of `multiple` (a power of two) that is not below v.
template <class T>
HEAPWOOD_INLINE constexpr T round_up(T v, T multiple) {
    return (v + multiple - 1) & ~(multiple - 1);
}

/// v / divisor, rounded up.
template <class T>
HEAPWOOD_INLINE constexpr T ceil_div(T v, T divisor) {
    return (v + divisor - 1) / divisor;
}

/// The bits of a float as an integer.
HEAPWOOD_INLINE std::uint32_t float_bits(float v) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(v);
#else
    return std::bit_cast<std::uint32_t>(v);
#endif
}

/// The float of the given bits.
HEAPWOOD_INLINE float bits_float(std::uint32_t v) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(v);
#else
    return std::bit_cast<float>(v);
#endif
}

/// The bits of v rearranged so that they compare as unsigned integers the way floats do, with -0
/// below +0: an order without ties between different bits. v must not be NaN.
HEAPWOOD_INLINE std::uint32_t float_ordered_bits(float v) {
    const std::uint32_t bits = float_bits(v);
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

/// The float of which `bits` are the ordered bits.
HEAPWOOD_INLINE float ordered_bits_float(std::uint32_t bits) {
    return bits_float((bits & 0x80000000U) != 0 ? bits & 0x7fffffffU : ~bits);
}

/// The greater of two floats, neither of them NaN; -0 is below +0.
HEAPWOOD_INLINE float ordered_max(float a, float b) {
#if defined(__CUDA_ARCH__)
    return fmaxf(a, b);  // PTX's max.f32, which has the same order
#else
    return float_ordered_bits(a) < float_ordered_bits(b) ? b : a;
#endif
}
/// The lesser of two floats, in the same order.
HEAPWOOD_INLINE float ordered_min(float a, float b) {
#if defined(__CUDA_ARCH__)
    return fminf(a, b);
#else
    return float_ordered_bits(b) < float_ordered_bits(a) ? b : a;
#endif
}

}  // namespace heapwood::platform
