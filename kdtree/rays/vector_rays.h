/// @file
/// What a ray is made into for a walk by vector instructions. Internal to the files that are
/// compiled for AVX2 and FMA: hence all of it is in an anonymous namespace.
#pragma once

#include <immintrin.h>

#include "kdtree/model/box.cuh"
#include "kdtree/model/triangle.cuh"
#include "kdtree/rays/four_tests.h"

namespace heapwood::kdtree {
namespace {

/// RayPlanes: each vector has x, y, z, nothing, and these four again.
struct Planes {
    __m256 inverse;
    __m256 earlier;
    __m256 later;
    float slack;
    float from;
    float to;
};

/// The smaller of two; where an operand is NaN, `b`.
inline __m128 smaller(__m128 a, __m128 b) {
    return _mm_min_ps(a, b);
}

inline float largest_of_xyz(__m128 v) {
    const __m128 y = _mm_movehdup_ps(v);
    const __m128 z = _mm_movehl_ps(v, v);
    return _mm_cvtss_f32(_mm_max_ss(_mm_max_ss(v, y), z));
}

inline float smallest_of_xyz(__m128 v) {
    const __m128 y = _mm_movehdup_ps(v);
    const __m128 z = _mm_movehl_ps(v, v);
    return _mm_cvtss_f32(_mm_min_ss(_mm_min_ss(v, y), z));
}

inline float sum_of_xyz(__m128 v) {
    const __m128 y = _mm_movehdup_ps(v);
    const __m128 z = _mm_movehl_ps(v, v);
    return _mm_cvtss_f32(_mm_add_ss(_mm_add_ss(v, y), z));
}

inline Planes planes_of(const Box& box, const Ray& ray) {
    const __m128 sign = _mm_set1_ps(-0.0F);
    const auto size = [&](__m128 v) { return _mm_andnot_ps(sign, v); };
    const __m128 origin = _mm_setr_ps(ray.origin.x, ray.origin.y, ray.origin.z, 0);
    const __m128 direction = _mm_setr_ps(ray.direction.x, ray.direction.y, ray.direction.z, 1);
    const __m128 lo = _mm_setr_ps(box.lo.x, box.lo.y, box.lo.z, 0);
    const __m128 hi = _mm_setr_ps(box.hi.x, box.hi.y, box.hi.z, 0);
    const __m128 reach =
        larger(size(origin), larger(size(_mm_sub_ps(lo, origin)), size(_mm_sub_ps(hi, origin))));
    const float longest = largest_of_xyz(size(direction));
    const float most_distant = 4 * largest_of_xyz(reach);
    const float margin = largest_of_xyz(reach) * 0x1p-19F + 0x1p-140F;
    const __m128 steep = _mm_cmpgt_ps(size(direction), _mm_set1_ps(longest * 0x1p-64F));
    const __m128 inverse =
        _mm_blendv_ps(_mm_set1_ps(0x1p64F / longest), _mm_div_ps(_mm_set1_ps(1), direction), steep);
    const __m128 aside = _mm_fmadd_ps(_mm_set1_ps(margin), size(inverse), _mm_set1_ps(0x1p-146F));
    const __m128 known =
        _mm_mul_ps(_mm_setzero_ps(), _mm_mul_ps(_mm_set1_ps(most_distant), inverse));
    const __m128 later = _mm_add_ps(_mm_fnmadd_ps(origin, inverse, aside), known);
    const __m128 earlier = _mm_add_ps(_mm_fnmsub_ps(origin, inverse, aside), known);
    const __m128 t_lo = _mm_blendv_ps(lo, hi, inverse);  // by the sign
    const __m128 t_hi = _mm_blendv_ps(hi, lo, inverse);
    const __m128 enter = larger(_mm_fmadd_ps(t_lo, inverse, earlier), _mm_set1_ps(ray.t_min));
    const __m128 leave = smaller(_mm_fmadd_ps(t_hi, inverse, later), _mm_set1_ps(ray.t_max));
    return {_mm256_set_m128(inverse, inverse),
            _mm256_set_m128(earlier, earlier),
            _mm256_set_m128(later, later),
            2 * largest_of_xyz(aside) + sum_of_xyz(known),
            largest_of_xyz(enter),
            smallest_of_xyz(leave)};
}

/// As Ray::is_valid.
inline bool is_valid(const Ray& ray) {
    const __m256 numbers = _mm256_loadu_ps(&ray.origin.x);
    const __m256 zero = _mm256_mul_ps(_mm256_setzero_ps(), numbers);
    const int finite = _mm256_movemask_ps(_mm256_cmp_ps(zero, zero, _CMP_ORD_Q));
    const float longest = largest_of_xyz(_mm_andnot_ps(
        _mm_set1_ps(-0.0F), _mm_setr_ps(ray.direction.x, ray.direction.y, ray.direction.z, 0)));
    return (finite & 63) == 63 && longest >= 0x1p-60F && longest <= 0x1p60F &&
           ray.t_min <= ray.t_max;
}

/// Of two hits of one ray the first: as ClosestQuery.
inline void keep_first(Hit& best, const Hit& hit) {
    if (hit.t < best.t || (hit.t == best.t && hit.triangle < best.triangle)) best = hit;
}

}  // namespace
}  // namespace heapwood::kdtree
