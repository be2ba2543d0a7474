/// @file
/// Oracle for traversal: every triangle of the scene, one after the other, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "kdtree/model/triangle.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

/// What TriangleTest ought to say, without its rejection in single precision: corners sheared in
/// single precision, and all that follows in double precision, where the signs are exact.
class DoubleTriangleTest {
public:
    explicit DoubleTriangleTest(const Ray& ray) : ray_(ray) {
        const glm::vec3 d{std::abs(ray.direction.x), std::abs(ray.direction.y),
                          std::abs(ray.direction.z)};
        z_ = d.x >= d.y ? (d.x >= d.z ? 0 : 2) : (d.y >= d.z ? 1 : 2);
        x_ = (z_ + 1) % 3;
        y_ = (z_ + 2) % 3;
        shear_x_ = ray.direction[x_] / ray.direction[z_];
        shear_y_ = ray.direction[y_] / ray.direction[z_];
        per_z_ = 1.0 / double{ray.direction[z_]};
    }

    /// Whether the ray meets abc; if so, sets t, u and v of `hit`.
    bool operator()(const glm::vec3& a, const glm::vec3& b, const glm::vec3& c, Hit& hit) const {
        const glm::dvec3 p = shear(a);
        const glm::dvec3 q = shear(b);
        const glm::dvec3 r = shear(c);
        const double at_a = r.x * q.y - r.y * q.x;
        const double at_b = p.x * r.y - p.y * r.x;
        const double at_c = q.x * p.y - q.y * p.x;
        const bool some_below = at_a < 0 || at_b < 0 || at_c < 0;
        const bool some_above = at_a > 0 || at_b > 0 || at_c > 0;
        if (some_below == some_above) return false;
        const double sum = at_a + at_b + at_c;
        const double z = at_a * p.z + at_b * q.z + at_c * r.z;
        const float t = static_cast<float>(z / sum * per_z_) + 0.0F;
        if (!(t >= ray_.t_min && t <= ray_.t_max)) return false;
        hit.t = t;
        hit.u = static_cast<float>(at_b / sum);
        hit.v = static_cast<float>(at_c / sum);
        return true;
    }

private:
    glm::dvec3 shear(const glm::vec3& corner) const {
        const float x = corner[x_] - ray_.origin[x_];
        const float y = corner[y_] - ray_.origin[y_];
        const float z = corner[z_] - ray_.origin[z_];
        return {x - shear_x_ * z, y - shear_y_ * z, z};
    }

    Ray ray_;
    int x_;
    int y_;
    int z_;
    float shear_x_;
    float shear_y_;
    double per_z_;
};

/// All hits of a ray, by t and number.
inline std::vector<Hit> hits_by_force(const scenes::Scene& scene, const Ray& ray) {
    std::vector<Hit> hits;
    if (!ray.is_valid()) return hits;
    const DoubleTriangleTest test(ray);
    for (std::uint32_t i = 0; i < scene.triangles.size(); ++i) {
        const glm::uvec3 t = scene.triangles[i];
        Hit hit{};
        hit.triangle = i;
        if (test(scene.positions[t.x], scene.positions[t.y], scene.positions[t.z], hit)) {
            hits.push_back(hit);
        }
    }
    std::ranges::sort(hits, {}, [](const Hit& h) { return std::tuple(h.t, h.triangle); });
    return hits;
}

/// What closest_hit ought to find.
inline Hit closest_hit_by_force(const scenes::Scene& scene, const Ray& ray) {
    const std::vector<Hit> hits = hits_by_force(scene, ray);
    return hits.empty() ? Hit{} : hits.front();
}

}  // namespace heapwood::kdtree::tests
