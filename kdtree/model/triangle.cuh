/// @file
/// Where a ray meets a triangle.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"

namespace heapwood::kdtree {

/// The points origin + t * direction with t_min <= t <= t_max. The direction need not have length
/// 1, but its largest component's absolute value must be between 2^-60 and 2^60. t_max may be
/// infinite.
struct Ray {
    glm::vec3 origin;
    glm::vec3 direction;
    float t_min;
    float t_max;
};

/// A ray's meeting with a triangle, at (1 - u - v) a + u b + v c.
struct Hit {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    float t;
    std::uint32_t triangle = kNone;  ///< its number, or kNone: then nothing else has a value
    float u;
    float v;

    HEAPWOOD_INLINE bool found() const { return triangle != kNone; }
};

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
class TriangleTest {
public:
    HEAPWOOD_FN explicit TriangleTest(const Ray& ray) : ray_(ray) {
        const auto size = [](float v) { return v < 0 ? -v : v; };
        const float x = size(ray.direction.x);
        const float y = size(ray.direction.y);
        const float z = size(ray.direction.z);
        z_ = x >= y ? (x >= z ? 0U : 2U) : (y >= z ? 1U : 2U);
        x_ = z_ == 2 ? 0 : z_ + 1;
        y_ = x_ == 2 ? 0 : x_ + 1;
        const float along = component(ray.direction, z_);
        shear_x_ = component(ray.direction, x_) / along;
        shear_y_ = component(ray.direction, y_) / along;
        per_z_ = 1.0 / double{along};
    }

    /// Whether the ray meets the triangle abc, corners, edges and both ends of the ray included; if
    /// so, sets t, u and v of `hit`. Never in a triangle seen exactly edge-on.
    HEAPWOOD_INLINE bool operator()(const glm::vec3& a, const glm::vec3& b, const glm::vec3& c,
                                    Hit& hit) const {
        const Sheared p = shear(a);
        const Sheared q = shear(b);
        const Sheared r = shear(c);
        const double at_a = r.x * q.y - r.y * q.x;
        const double at_b = p.x * r.y - p.y * r.x;
        const double at_c = q.x * p.y - q.y * p.x;
        const bool some_below = at_a < 0 || at_b < 0 || at_c < 0;
        const bool some_above = at_a > 0 || at_b > 0 || at_c > 0;
        if (some_below == some_above) return false;  // outside, or nothing but zeros

        const double sum = at_a + at_b + at_c;
        const double z = at_a * p.z + at_b * q.z + at_c * r.z;
        const float t = static_cast<float>(z / sum * per_z_) + 0.0F;  // never -0
        if (!(t >= ray_.t_min && t <= ray_.t_max)) return false;
        hit.t = t;
        hit.u = static_cast<float>(at_b / sum);
        hit.v = static_cast<float>(at_c / sum);
        return true;
    }

private:
    /// A corner in the ray's frame; x and y hold floats.
    struct Sheared {
        double x;
        double y;
        double z;
    };

    HEAPWOOD_INLINE Sheared shear(const glm::vec3& corner) const {
        const float x = component(corner, x_) - component(ray_.origin, x_);
        const float y = component(corner, y_) - component(ray_.origin, y_);
        const float z = component(corner, z_) - component(ray_.origin, z_);
        return {x - shear_x_ * z, y - shear_y_ * z, z};
    }

    Ray ray_;
    unsigned x_;
    unsigned y_;
    unsigned z_;
    float shear_x_;
    float shear_y_;
    double per_z_;
};

}  // namespace heapwood::kdtree
