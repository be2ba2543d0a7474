/// @file
/// TriangleTest with a CPU's vector instructions. Internal to wide_trace_avx2.cpp, which alone is
/// compiled for them: hence all of it is in an anonymous namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree {
namespace {

/// Where an operand is NaN, `b`.
__m128 larger(__m128 a, __m128 b) {
    return _mm_max_ps(a, b);
}
__m128 smaller(__m128 a, __m128 b) {
    return _mm_min_ps(a, b);
}

/// TriangleTest for four triangles at a time.
class FourTriangleTest {
public:
    explicit FourTriangleTest(const Ray& ray) : t_min_(_mm_set1_ps(ray.t_min)) {
        const float x = __builtin_fabsf(ray.direction.x);
        const float y = __builtin_fabsf(ray.direction.y);
        const float z = __builtin_fabsf(ray.direction.z);
        z_ = x >= y ? (x >= z ? 0U : 2U) : (y >= z ? 1U : 2U);
        x_ = z_ == 2 ? 0 : z_ + 1;
        y_ = x_ == 2 ? 0 : x_ + 1;
        const float direction[3] = {ray.direction.x, ray.direction.y, ray.direction.z};
        const float origin[3] = {ray.origin.x, ray.origin.y, ray.origin.z};
        const float along = direction[z_];
        shear_x_ = _mm_set1_ps(direction[x_] / along);
        shear_y_ = _mm_set1_ps(direction[y_] / along);
        origin_x_ = _mm_set1_ps(origin[x_]);
        origin_y_ = _mm_set1_ps(origin[y_]);
        origin_z_ = _mm_set1_ps(origin[z_]);
        along_ = _mm_set1_ps(along);
        per_z_ = _mm256_set1_pd(1.0 / double{along});
    }

    /// What of a block is met at t <= limit.
    struct Met {
        alignas(16) float t[4];
        alignas(16) float u[4];
        alignas(16) float v[4];
        unsigned lanes = 0;  ///< a bit for each that is
    };
    /// Of up to four triangles, the last of which stands in for those that there are not.
    void operator()(const CornerRow* rows, std::uint32_t count, float limit, Met& met) const {
        met.lanes = 0;
        const std::uint64_t last = count - 1;
        const CornerRow* triangles[4];
        for (std::uint64_t i = 0; i < 4; ++i) triangles[i] = rows + 3 * (i < last ? i : last);
        const Corners k = shear(triangles);
        const unsigned candidates = pass(k, limit);
        if (candidates != 0) intersect(k, limit, candidates, met);
    }

private:
    struct Corners {
        __m128 px, py, pz;
        __m128 qx, qy, qz;
        __m128 rx, ry, rz;
    };

    /// The coordinates along an axis of the four triangles' a, b and c.
    static void coordinates(const CornerRow* const triangles[4], unsigned axis, __m128& a,
                            __m128& b, __m128& c) {
        const auto row = [&](int i) { return _mm_load_ps(&triangles[i][axis].a); };
        const __m128 r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
        const __m128 ab01 = _mm_unpacklo_ps(r0, r1);  // a0 a1 b0 b1
        const __m128 ab23 = _mm_unpacklo_ps(r2, r3);
        a = _mm_movelh_ps(ab01, ab23);
        b = _mm_movehl_ps(ab23, ab01);
        c = _mm_movelh_ps(_mm_unpackhi_ps(r0, r1), _mm_unpackhi_ps(r2, r3));
    }

    Corners shear(const CornerRow* const triangles[4]) const {
        Corners k;
        coordinates(triangles, z_, k.pz, k.qz, k.rz);
        coordinates(triangles, x_, k.px, k.qx, k.rx);
        coordinates(triangles, y_, k.py, k.qy, k.ry);
        const auto corner = [&](__m128& x, __m128& y, __m128& z) {
            z = _mm_sub_ps(z, origin_z_);
            x = _mm_sub_ps(_mm_sub_ps(x, origin_x_), _mm_mul_ps(shear_x_, z));
            y = _mm_sub_ps(_mm_sub_ps(y, origin_y_), _mm_mul_ps(shear_y_, z));
        };
        corner(k.px, k.py, k.pz);
        corner(k.qx, k.qy, k.qz);
        corner(k.rx, k.ry, k.rz);
        return k;
    }

    static __m128 difference_of_products4(__m128 a, __m128 b, __m128 c, __m128 d) {
        const __m128 product = _mm_mul_ps(c, d);
        return _mm_add_ps(_mm_fmsub_ps(a, b, product), _mm_fnmadd_ps(c, d, product));
    }

    /// TriangleTest::passes.
    unsigned pass(const Corners& k, float limit) const {
        const __m128 sign = _mm_set1_ps(-0.0F);
        const __m128 certain = _mm_set1_ps(0x1p-96F);
        const __m128 a = difference_of_products4(k.rx, k.qy, k.ry, k.qx);
        const __m128 b = difference_of_products4(k.px, k.ry, k.py, k.rx);
        const __m128 c = difference_of_products4(k.qx, k.py, k.qy, k.px);
        // A NaN is neither.
        const __m128 below = _mm_or_ps(_mm_cmplt_ps(a, _mm_or_ps(certain, sign)),
                                       _mm_or_ps(_mm_cmplt_ps(b, _mm_or_ps(certain, sign)),
                                                 _mm_cmplt_ps(c, _mm_or_ps(certain, sign))));
        const __m128 above =
            _mm_or_ps(_mm_cmpgt_ps(a, certain),
                      _mm_or_ps(_mm_cmpgt_ps(b, certain), _mm_cmpgt_ps(c, certain)));
        const __m128 outside = _mm_and_ps(below, above);
        const auto lanes = static_cast<unsigned>(_mm_movemask_ps(outside)) ^ 15U;
        if (lanes == 0) return 0;
        const __m128 sum = _mm_add_ps(_mm_add_ps(a, b), c);
        const __m128 z = _mm_fmadd_ps(a, k.pz, _mm_fmadd_ps(b, k.qz, _mm_mul_ps(c, k.rz)));
        const __m128 turned = _mm_and_ps(_mm_xor_ps(sum, along_), sign);
        const __m128 ahead = _mm_xor_ps(z, turned);
        const auto size = [&](__m128 v) { return _mm_andnot_ps(sign, v); };
        const __m128 farthest = larger(size(k.pz), larger(size(k.qz), size(k.rz)));
        const __m128 bound =
            _mm_mul_ps(size(sum), _mm_fmadd_ps(_mm_set1_ps(limit), size(along_),
                                               _mm_mul_ps(_mm_set1_ps(0x1p-16F), farthest)));
        const __m128 beyond = _mm_and_ps(_mm_cmpgt_ps(ahead, bound),
                                         _mm_and_ps(_mm_cmpgt_ps(size(sum), certain),
                                                    _mm_cmplt_ps(ahead, _mm_set1_ps(0x1p120F))));
        return lanes & ~static_cast<unsigned>(_mm_movemask_ps(beyond));
    }

    /// TriangleTest::intersect and locate.
    void intersect(const Corners& k, float limit, unsigned candidates, Met& met) const {
        const auto wide = [](__m128 v) { return _mm256_cvtps_pd(v); };
        const auto edge = [&](__m128 a, __m128 b, __m128 c, __m128 d) {
            return _mm256_sub_pd(_mm256_mul_pd(wide(a), wide(b)), _mm256_mul_pd(wide(c), wide(d)));
        };
        const __m256d a = edge(k.rx, k.qy, k.ry, k.qx);
        const __m256d b = edge(k.px, k.ry, k.py, k.rx);
        const __m256d c = edge(k.qx, k.py, k.qy, k.px);
        const __m256d zero = _mm256_setzero_pd();
        const __m256d below = _mm256_or_pd(
            _mm256_cmp_pd(a, zero, _CMP_LT_OQ),
            _mm256_or_pd(_mm256_cmp_pd(b, zero, _CMP_LT_OQ), _mm256_cmp_pd(c, zero, _CMP_LT_OQ)));
        const __m256d above = _mm256_or_pd(
            _mm256_cmp_pd(a, zero, _CMP_GT_OQ),
            _mm256_or_pd(_mm256_cmp_pd(b, zero, _CMP_GT_OQ), _mm256_cmp_pd(c, zero, _CMP_GT_OQ)));
        candidates &= static_cast<unsigned>(_mm256_movemask_pd(_mm256_xor_pd(below, above)));
        if (candidates == 0) return;
        const __m256d sum = _mm256_add_pd(_mm256_add_pd(a, b), c);
        const __m256d z =
            _mm256_add_pd(_mm256_add_pd(_mm256_mul_pd(a, wide(k.pz)), _mm256_mul_pd(b, wide(k.qz))),
                          _mm256_mul_pd(c, wide(k.rz)));
        const __m128 t = _mm_add_ps(_mm256_cvtpd_ps(_mm256_mul_pd(_mm256_div_pd(z, sum), per_z_)),
                                    _mm_setzero_ps());
        const __m128 in_range =
            _mm_and_ps(_mm_cmpge_ps(t, t_min_), _mm_cmple_ps(t, _mm_set1_ps(limit)));
        met.lanes = candidates & static_cast<unsigned>(_mm_movemask_ps(in_range));
        if (met.lanes == 0) return;
        _mm_store_ps(met.t, t);
        _mm_store_ps(met.u, _mm256_cvtpd_ps(_mm256_div_pd(b, sum)));
        _mm_store_ps(met.v, _mm256_cvtpd_ps(_mm256_div_pd(c, sum)));
    }

    unsigned x_;
    unsigned y_;
    unsigned z_;
    __m128 shear_x_;
    __m128 shear_y_;
    __m128 origin_x_;
    __m128 origin_y_;
    __m128 origin_z_;
    __m128 along_;
    __m128 t_min_;
    __m256d per_z_;
};

}  // namespace
}  // namespace heapwood::kdtree
