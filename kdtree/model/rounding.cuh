/// @file
/// Single-precision arithmetic whose rounding matters, spelled alike for a GPU and a CPU.
#pragma once

#include "allocators/platform/macros.cuh"

namespace heapwood::kdtree {

/// The absolute value.
HEAPWOOD_INLINE float size(float v) {
#if defined(__CUDA_ARCH__)
    return fabsf(v);
#else
    return v < 0 ? -v : v;
#endif
}

/// The smaller and the larger of two floats; where `b` is NaN, `a`. One instruction.
HEAPWOOD_INLINE float lesser_number(float a, float b) {
#if defined(__CUDA_ARCH__)
    return fminf(a, b);
#else
    return b < a ? b : a;
#endif
}
HEAPWOOD_INLINE float greater_number(float a, float b) {
#if defined(__CUDA_ARCH__)
    return fmaxf(a, b);
#else
    return a < b ? b : a;
#endif
}

/// a * b rounded, which no compiler option fuses with a sum that follows (in a program's own
/// kernels; a host compiler must be told -ffp-contract=off where its machine has such
/// instructions).
HEAPWOOD_INLINE float rounded_product(float a, float b) {
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}
HEAPWOOD_INLINE double rounded_product(double a, double b) {
#if defined(__CUDA_ARCH__)
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

/// a * b + c, rounded once where the machine has an instruction for it, else twice: for what has
/// room for a rounding more.
HEAPWOOD_INLINE float multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#elif defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/// a * b - c * d with a relative error of at most 2^-22 (Kahan's method), so with the right sign,
/// unless a product underflows (then it is off by at most 2^-148) or overflows (then it may be
/// infinite, of the right sign, or NaN).
HEAPWOOD_INLINE float difference_of_products(float a, float b, float c, float d) {
#if defined(__CUDA_ARCH__)
    const float product = c * d;
    return __fmaf_rn(a, b, -product) + __fmaf_rn(-c, d, product);
#elif defined(__FMA__)
    const float product = c * d;
    return __builtin_fmaf(a, b, -product) + __builtin_fmaf(-c, d, product);
#else
    return static_cast<float>(double{a} * b - double{c} * d);
#endif
}

}  // namespace heapwood::kdtree
