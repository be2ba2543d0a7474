/// @file
/// Random, primary and secondary rays of a scene.
#include "app/measure/rays.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <glm/geometric.hpp>
#include <limits>
#include <map>

#include "scenes/random.h"

namespace heapwood::app {
namespace {

using glm::vec3;
using kdtree::Hit;
using kdtree::Ray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

vec3 unit(const vec3& v) {
    return v * (1 / std::sqrt(glm::dot(v, v)));
}

/// Numbers from 0 to 1, 1 excluded, in steps of a float.
class Random {
public:
    explicit Random(std::uint64_t seed) : bits_(seed) {}
    float unit() { return static_cast<float>(bits_.next() >> 40) * 0x1p-24F; }

private:
    scenes::Random bits_;
};

struct Pixel {
    unsigned x;
    unsigned y;
};

/// The pixel of a ray's number.
Pixel pixel(std::uint64_t ray, unsigned width) {
    const auto lane = static_cast<unsigned>(ray % 32);
    const auto in_tile = static_cast<unsigned>(ray / 32 % 32);
    const auto tile = static_cast<unsigned>(ray / 1024);
    const unsigned tiles = width / 32;
    return {tile % tiles * 32 + in_tile % 4 * 8 + lane % 8,
            tile / tiles * 32 + in_tile / 4 * 4 + lane / 8};
}

/// Where light goes from a hit: the point, a little off the surface, and the surface's frame.
struct Surface {
    vec3 point;
    vec3 normal;  ///< towards the ray's origin
    vec3 u;
    vec3 v;
};

Surface surface_at(const scenes::Scene& scene, const Ray& ray, const Hit& hit, float off) {
    const glm::uvec3 t = scene.triangles[hit.triangle];
    const vec3 a = scene.positions[t.x];
    vec3 normal = glm::cross(scene.positions[t.y] - a, scene.positions[t.z] - a);
    const float square = glm::dot(normal, normal);
    normal = square > 0 ? normal * (1 / std::sqrt(square)) : -ray.direction;
    if (!(glm::dot(normal, normal) > 0.5F)) normal = -ray.direction;
    if (glm::dot(normal, ray.direction) > 0) normal = -normal;
    const vec3 side = std::abs(normal.x) < 0.6F ? vec3{1, 0, 0} : vec3{0, 1, 0};
    const vec3 u = unit(glm::cross(side, normal));
    return {ray.origin + ray.direction * hit.t + normal * off, normal, u, glm::cross(normal, u)};
}

/// A point of the unit disc by rejection, lifted to the hemisphere: distributed by the cosine.
vec3 reflected(const Surface& surface, Random& random) {
    float x;
    float y;
    do {
        x = 2 * random.unit() - 1;
        y = 2 * random.unit() - 1;
    } while (x * x + y * y > 1);
    const float z = std::sqrt(std::max(0.0F, 1 - x * x - y * y));
    return unit(surface.normal * z + (surface.u * x + surface.v * y));
}

/// Inside the scene between the eye and what it sees, a bit higher; outside above, to the side.
vec3 light_of(const scenes::Scene& scene, const Camera& camera) {
    const vec3& lo = scene.bounds.lo;
    const vec3& hi = scene.bounds.hi;
    bool inside = true;
    for (int k = 0; k < 3; ++k) inside = inside && camera.eye[k] > lo[k] && camera.eye[k] < hi[k];
    if (inside) return (camera.eye + camera.target) * 0.5F + vec3{0, 0.12F * (hi.y - lo.y), 0};
    return (lo + hi) * 0.5F + vec3{-0.6F, 0.9F, 0.7F} * glm::length(hi - lo);
}

}  // namespace

Camera camera_of(const scenes::Scene& scene) {
    static const std::map<std::string, Camera> known{
        {"sponza", {{-13, 2.5F, 0.3F}, {10, 5, -0.5F}, 75}},
        {"sibenik", {{-16, -9, 0.4F}, {10, -7, -0.3F}, 75}},
        {"crytek_sponza", {{-62, 10, -2}, {60, 22, -3}, 75}},
        {"conference", {{1300, 420, -950}, {250, 60, -150}, 70}},
        {"country_kitchen", {{-1.6F, 1.6F, 4.2F}, {0.6F, 1.2F, -1.5F}, 65}},
        {"dragon_202k", {{-0.03F, 0.16F, 0.28F}, {-0.005F, 0.122F, -0.005F}, 34}},
        {"dragon_871k", {{-0.03F, 0.16F, 0.28F}, {-0.005F, 0.122F, -0.005F}, 34}},
        {"bunny", {{-0.03F, 0.16F, 0.30F}, {-0.017F, 0.108F, -0.002F}, 34}},
    };
    const std::string file = std::filesystem::path(scene.path).filename().string();
    const auto found = known.find(file.substr(0, file.find('.')));
    if (found != known.end()) return found->second;
    const vec3 middle = (scene.bounds.lo + scene.bounds.hi) * 0.5F;
    const float size = glm::length(scene.bounds.hi - scene.bounds.lo);
    return {middle + unit({-0.3F, 0.4F, 1}) * (size * 1.1F), middle, 50};
}

RaySet random_rays(const scenes::Scene& scene, std::uint64_t count, std::uint64_t seed) {
    RaySet set{"random", false, false, {}};
    Random random(seed);
    const vec3 extent = scene.bounds.hi - scene.bounds.lo;
    const auto point = [&] {
        const float x = random.unit();
        const float y = random.unit();
        return scene.bounds.lo + vec3{x, y, random.unit()} * extent;
    };
    set.rays.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const vec3 from = point();
        set.rays.push_back({from, unit(point() - from), 0, kInfinity});
    }
    return set;
}

RaySet primary_rays(const Camera& camera, unsigned width) {
    RaySet set{"primary", false, true, {}};
    const vec3 ahead = unit(camera.target - camera.eye);
    const vec3 right = unit(glm::cross(ahead, vec3{0, 1, 0}));
    const vec3 up = glm::cross(right, ahead);
    const float half = std::tan(camera.field_of_view * 3.14159265F / 360);
    const std::uint64_t count = std::uint64_t{width} * width;
    const auto pixels = static_cast<float>(width);
    set.rays.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const Pixel p = pixel(i, width);
        const float u = ((static_cast<float>(p.x) + 0.5F) / pixels * 2 - 1) * half;
        const float v = (1 - (static_cast<float>(p.y) + 0.5F) / pixels * 2) * half;
        set.rays.push_back({camera.eye, unit(ahead + (right * u + up * v)), 0, kInfinity});
    }
    return set;
}

std::vector<RaySet> secondary_rays(const scenes::Scene& scene, const Camera& camera,
                                   std::span<const Ray> primary, std::span<const Hit> hits,
                                   std::uint64_t seed) {
    std::vector<std::uint64_t> met;
    for (std::uint64_t i = 0; i < hits.size(); ++i) {
        if (hits[i].found()) met.push_back(i);
    }
    RaySet bounce{"bounce", false, false, {}};
    RaySet shadow{"shadow", true, true, {}};
    RaySet occlusion{"ambient-occlusion", true, false, {}};
    const float size = glm::length(scene.bounds.hi - scene.bounds.lo);
    const vec3 light = light_of(scene, camera);
    Random random(~seed);
    for (std::uint64_t i = 0; !met.empty() && i < hits.size(); ++i) {
        const std::uint64_t k = met[i * met.size() / hits.size()];
        const Surface surface = surface_at(scene, primary[k], hits[k], size * 1e-5F);
        const vec3 direction = reflected(surface, random);
        bounce.rays.push_back({surface.point, direction, 0, kInfinity});
        shadow.rays.push_back({surface.point, light - surface.point, 0, 1});
        occlusion.rays.push_back({surface.point, direction, 0, size * 0.1F});
    }
    return {std::move(bounce), std::move(shadow), std::move(occlusion)};
}

}  // namespace heapwood::app
