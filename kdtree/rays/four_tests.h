/// @file
/// TriangleTest with a CPU's vector instructions. Internal to the files that are compiled for AVX2
/// and FMA: hence all of it is in an anonymous namespace.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree {
namespace {

/// The larger of two; where an operand is NaN, `b`.
inline __m128 larger(__m128 a, __m128 b) {
    return _mm_max_ps(a, b);
}

/// A component of a ray: of its origin (0 to 2), or of its direction (3 to 5).
inline float number(const Ray& ray, unsigned which) {
    return (&ray.origin.x)[which];
}

/// The axes as TriangleTest renames them: along z the direction is longest.
struct Axes {
    unsigned x;
    unsigned y;
    unsigned z;

    Axes() = default;
    explicit Axes(const Ray& ray) {
        const float along_x = __builtin_fabsf(ray.direction.x);
        const float along_y = __builtin_fabsf(ray.direction.y);
        const float along_z = __builtin_fabsf(ray.direction.z);
        z = along_x >= along_y ? (along_x >= along_z ? 0U : 2U) : (along_y >= along_z ? 1U : 2U);
        x = z == 2 ? 0 : z + 1;
        y = x == 2 ? 0 : x + 1;
    }
};

/// TriangleTest for four pairs of a ray and a triangle at a time.
class FourTests {
public:
    /// Of no ray yet.
    FourTests() = default;
    /// Of one ray.
    explicit FourTests(const Ray& ray)
        : FourTests(Axes(ray), _mm_set1_ps(ray.t_min),
                    [&](unsigned which) { return _mm_set1_ps(number(ray, which)); }) {}
    /// Of four rays one after the other, whose axes are the same.
    FourTests(const Axes& axes, const Ray* rays)
        : FourTests(axes, _mm_setr_ps(rays[0].t_min, rays[1].t_min, rays[2].t_min, rays[3].t_min),
                    [&](unsigned which) {
                        return _mm_setr_ps(number(rays[0], which), number(rays[1], which),
                                           number(rays[2], which), number(rays[3], which));
                    }) {}

    /// Which pairs meet at t <= limit, and where.
    struct Met {
        alignas(16) float t[4];
        alignas(16) float u[4];
        alignas(16) float v[4];
        unsigned lanes = 0;  ///< a bit for each pair that does
    };
    /// One ray and up to four triangles, the last of which stands in for those that there are not.
    void triangles(const CornerRow* rows, std::uint32_t count, float limit, Met& met) const {
        const std::uint64_t last = count - 1;
        const CornerRow* triangles[4];
        for (std::uint64_t i = 0; i < 4; ++i) triangles[i] = rows + 3 * (i < last ? i : last);
        Corners k;
        coordinates(triangles, axes_.z, k.pz, k.qz, k.rz);
        coordinates(triangles, axes_.x, k.px, k.qx, k.rx);
        coordinates(triangles, axes_.y, k.py, k.qy, k.ry);
        test(k, _mm_set1_ps(limit), met);
    }
    /// Four rays and one triangle.
    void triangle(const CornerRow* rows, __m128 limit, Met& met) const {
        const auto all = [](const float& v) { return _mm_broadcast_ss(&v); };
        const CornerRow& x = rows[axes_.x];
        const CornerRow& y = rows[axes_.y];
        const CornerRow& z = rows[axes_.z];
        test({all(x.a), all(y.a), all(z.a), all(x.b), all(y.b), all(z.b), all(x.c), all(y.c),
              all(z.c)},
             limit, met);
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

    /// @param lanes gives number() of the four rays.
    template <class Lanes>
    FourTests(const Axes& axes, __m128 t_min, const Lanes& lanes)
        : axes_(axes),
          origin_x_(lanes(axes.x)),
          origin_y_(lanes(axes.y)),
          origin_z_(lanes(axes.z)),
          along_(lanes(3 + axes.z)),
          shear_x_(_mm_div_ps(lanes(3 + axes.x), along_)),
          shear_y_(_mm_div_ps(lanes(3 + axes.y), along_)),
          t_min_(t_min),
          per_z_(_mm256_div_pd(_mm256_set1_pd(1), _mm256_cvtps_pd(along_))) {}

    /// As TriangleTest::meets and locate.
    void test(Corners k, __m128 limit, Met& met) const {
        met.lanes = 0;
        shear(k);
        const unsigned candidates = pass(k, limit);
        if (candidates != 0) intersect(k, limit, candidates, met);
    }

    void shear(Corners& k) const {
        const auto corner = [&](__m128& x, __m128& y, __m128& z) {
            z = _mm_sub_ps(z, origin_z_);
            x = _mm_sub_ps(_mm_sub_ps(x, origin_x_), _mm_mul_ps(shear_x_, z));
            y = _mm_sub_ps(_mm_sub_ps(y, origin_y_), _mm_mul_ps(shear_y_, z));
        };
        corner(k.px, k.py, k.pz);
        corner(k.qx, k.qy, k.qz);
        corner(k.rx, k.ry, k.rz);
    }

    static __m128 difference_of_products4(__m128 a, __m128 b, __m128 c, __m128 d) {
        const __m128 product = _mm_mul_ps(c, d);
        return _mm_add_ps(_mm_fmsub_ps(a, b, product), _mm_fnmadd_ps(c, d, product));
    }

    /// TriangleTest::passes.
    unsigned pass(const Corners& k, __m128 limit) const {
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
        const __m128 margin = _mm_fmadd_ps(_mm_set1_ps(0x1p-16F), farthest, _mm_set1_ps(0x1p-120F));
        const __m128 bound = _mm_mul_ps(size(sum), _mm_fmadd_ps(limit, size(along_), margin));
        const __m128 in_range = _mm_and_ps(_mm_cmplt_ps(ahead, _mm_set1_ps(0x1p120F)),
                                           _mm_cmpgt_ps(ahead, _mm_set1_ps(0x1p-120F)));
        const __m128 beyond = _mm_and_ps(_mm_cmpgt_ps(ahead, bound),
                                         _mm_and_ps(_mm_cmpgt_ps(size(sum), certain), in_range));
        return lanes & ~static_cast<unsigned>(_mm_movemask_ps(beyond));
    }

    /// TriangleTest::intersect and locate.
    void intersect(const Corners& k, __m128 limit, unsigned candidates, Met& met) const {
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
        const __m128 in_range = _mm_and_ps(_mm_cmpge_ps(t, t_min_), _mm_cmple_ps(t, limit));
        met.lanes = candidates & static_cast<unsigned>(_mm_movemask_ps(in_range));
        if (met.lanes == 0) return;
        _mm_store_ps(met.t, t);
        _mm_store_ps(met.u, _mm256_cvtpd_ps(_mm256_div_pd(b, sum)));
        _mm_store_ps(met.v, _mm256_cvtpd_ps(_mm256_div_pd(c, sum)));
    }

    Axes axes_;
    __m128 origin_x_;
    __m128 origin_y_;
    __m128 origin_z_;
    __m128 along_;
    __m128 shear_x_;
    __m128 shear_y_;
    __m128 t_min_;
    __m256d per_z_;
};

}  // namespace
}  // namespace heapwood::kdtree
