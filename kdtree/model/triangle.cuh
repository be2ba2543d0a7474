/// @file
/// Where a ray meets a triangle.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"
#include "kdtree/model/rounding.cuh"

namespace heapwood::kdtree {

/// The points origin + t * direction with t_min <= t <= t_max. The direction need not have length
/// 1. Either end may be infinite.
struct alignas(16) Ray {
    glm::vec3 origin;
    glm::vec3 direction;
    float t_min;
    float t_max;

    /// Whether all numbers are finite but for the ends, the direction's largest component is
    /// between 2^-60 and 2^60 in absolute value, and t_min <= t_max. A ray that is not valid (a NaN
    /// somewhere, an infinite origin, a direction of zero, ends in the wrong order) meets nothing.
    HEAPWOOD_INLINE bool is_valid() const {
        const float zero = 0 * origin.x + 0 * origin.y + 0 * origin.z + 0 * direction.x +
                           0 * direction.y + 0 * direction.z;
        const float longest =
            greater_number(size(direction.x), greater_number(size(direction.y), size(direction.z)));
        return zero == 0 && longest >= 0x1p-60F && longest <= 0x1p60F && t_min <= t_max;
    }
};

/// A ray's meeting with a triangle, at (1 - u - v) a + u b + v c.
struct alignas(16) Hit {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    float t;
    std::uint32_t triangle = kNone;  ///< its number, or kNone: then nothing else has a value
    float u;
    float v;

    HEAPWOOD_INLINE bool found() const { return triangle != kNone; }
};

/// One coordinate of a triangle's three corners, and the triangle's number. A triangle is three
/// rows, x, y and z: three 16-byte loads, whichever axis a test calls z.
struct alignas(16) CornerRow {
    float a;
    float b;
    float c;
    std::uint32_t triangle;
};

/// A row by one 16-byte load.
HEAPWOOD_INLINE CornerRow load_row(const CornerRow* row) {
#if defined(__CUDA_ARCH__)
    const float4 v = __ldg(reinterpret_cast<const float4*>(row));
    return {v.x, v.y, v.z, __float_as_uint(v.w)};
#else
    return *row;
#endif
}

/// A ray ready to be tested against many triangles, after Woop, Benthin, Wald: "Watertight
/// Ray/Triangle Intersection", JCGT 2013: axes renamed so that the direction is longest along z,
/// and space sheared so that the ray becomes the z axis.
///
/// Corners are sheared in single precision, each on its own. The signs that decide are then exact:
/// a product of two floats is exact in double precision, and a difference of two doubles has the
/// right sign. So a test is right for a triangle whose corners are off by a few roundings (less
/// than 2^-20 of the largest distance, along an axis, from the ray's origin to a corner):
/// triangles that share corners leave no gap between them, and a hit, be the triangle ever so
/// thin, proves that the ray passes that near to the triangle. Traversal builds on this.
///
/// Nearly all triangles are rejected in single precision: where the edge functions, with the
/// rounding error of a product added back, have different signs and none is near underflow. Double
/// precision decides on the others, so the outcome is that of double precision throughout.
///
/// The ray must be valid.
class TriangleTest {
public:
    HEAPWOOD_INLINE explicit TriangleTest(const Ray& ray) : t_min_(ray.t_min) {
        const float x = size(ray.direction.x);
        const float y = size(ray.direction.y);
        const float z = size(ray.direction.z);
        z_ = x >= y ? (x >= z ? 0U : 2U) : (y >= z ? 1U : 2U);
        x_ = z_ == 2 ? 0 : z_ + 1;
        y_ = x_ == 2 ? 0 : x_ + 1;
        along_ = component(ray.direction, z_);
        shear_x_ = component(ray.direction, x_) / along_;
        shear_y_ = component(ray.direction, y_) / along_;
        origin_x_ = component(ray.origin, x_);
        origin_y_ = component(ray.origin, y_);
        origin_z_ = component(ray.origin, z_);
    }

    /// Whether the ray meets the triangle of three rows at t <= limit, corners, edges and both ends
    /// included; if so, sets hit.t and hit.triangle. Never in a triangle seen exactly edge-on.
    HEAPWOOD_INLINE bool meets(const CornerRow* rows, float limit, Hit& hit) const {
        const CornerRow z = load_row(rows + z_);
        const Corners c = shear(load_row(rows + x_), load_row(rows + y_), z);
        hit.triangle = z.triangle;
        return passes(c, limit) && intersect(c, limit, hit);
    }

    /// Sets hit.u and hit.v for a triangle that the ray meets.
    HEAPWOOD_INLINE void locate(const CornerRow* rows, Hit& hit) const {
        const EdgeFunctions e(shear(load_row(rows + x_), load_row(rows + y_), load_row(rows + z_)));
        hit.u = static_cast<float>(e.b / e.sum());
        hit.v = static_cast<float>(e.c / e.sum());
    }

private:
    /// A triangle's corners p, q, r in the ray's frame.
    struct Corners {
        float px, py, pz;
        float qx, qy, qz;
        float rx, ry, rz;
    };

    /// Twice the signed areas that the ray's point makes with the edges opposite to a, b and c.
    struct EdgeFunctions {
        double a;
        double b;
        double c;

        HEAPWOOD_INLINE explicit EdgeFunctions(const Corners& k)
            : a(double{k.rx} * k.qy - double{k.ry} * k.qx),
              b(double{k.px} * k.ry - double{k.py} * k.rx),
              c(double{k.qx} * k.py - double{k.qy} * k.px) {}
        HEAPWOOD_INLINE double sum() const { return a + b + c; }
    };

    HEAPWOOD_INLINE Corners shear(const CornerRow& x, const CornerRow& y,
                                  const CornerRow& z) const {
        const float pz = z.a - origin_z_;
        const float qz = z.b - origin_z_;
        const float rz = z.c - origin_z_;
        const auto x_of = [this](float v, float depth) {
            return (v - origin_x_) - rounded_product(shear_x_, depth);
        };
        const auto y_of = [this](float v, float depth) {
            return (v - origin_y_) - rounded_product(shear_y_, depth);
        };
        return {x_of(x.a, pz), y_of(y.a, pz), pz, x_of(x.b, qz), y_of(y.b, qz), qz,
                x_of(x.c, rz), y_of(y.c, rz), rz};
    }

    /// False only if the ray certainly does not meet the triangle at t <= limit. A sign is certain
    /// for what exceeds kCertain, far above the smallest floats; NaN, from overflow, never does. A
    /// distance is certain if its product with an area exceeds kCertainMoment, for the same reason.
    HEAPWOOD_INLINE bool passes(const Corners& k, float limit) const {
        constexpr float kCertain = 0x1p-96F;
        constexpr float kCertainMoment = 0x1p-120F;
        const float a = difference_of_products(k.rx, k.qy, k.ry, k.qx);
        const float b = difference_of_products(k.px, k.ry, k.py, k.rx);
        const float c = difference_of_products(k.qx, k.py, k.qy, k.px);
        const float least = lesser_number(a, lesser_number(b, c));
        const float most = greater_number(a, greater_number(b, c));
        if (least < -kCertain && most > kCertain) return false;
        // The distance to within 2^-16 of the farthest corner's and 2^-120, which is where that
        // product underflows.
        const float sum = a + b + c;
        const float z = multiply_add(a, k.pz, multiply_add(b, k.qz, c * k.rz));
        const float ahead = (sum < 0) != (along_ < 0) ? -z : z;
        const float farthest = greater_number(size(k.pz), greater_number(size(k.qz), size(k.rz)));
        const float margin = multiply_add(0x1p-16F, farthest, 0x1p-120F);
        const float bound = size(sum) * multiply_add(limit, size(along_), margin);
        const bool certain = size(sum) > kCertain && ahead < 0x1p120F && ahead > kCertainMoment;
        return !(certain && ahead > bound);
    }

    HEAPWOOD_INLINE bool intersect(const Corners& k, float limit, Hit& hit) const {
        const EdgeFunctions e(k);
        const bool some_below = e.a < 0 || e.b < 0 || e.c < 0;
        const bool some_above = e.a > 0 || e.b > 0 || e.c > 0;
        if (some_below == some_above) return false;  // outside, or nothing but zeros
        const double z = rounded_product(e.a, double{k.pz}) + rounded_product(e.b, double{k.qz}) +
                         rounded_product(e.c, double{k.rz});
        const double per_z = 1.0 / double{along_};
        hit.t = static_cast<float>(z / e.sum() * per_z) + 0.0F;  // never -0
        return hit.t >= t_min_ && hit.t <= limit;
    }

    unsigned x_;
    unsigned y_;
    unsigned z_;
    float origin_x_;
    float origin_y_;
    float origin_z_;
    float shear_x_;
    float shear_y_;
    float along_;
    float t_min_;
};

}  // namespace heapwood::kdtree
