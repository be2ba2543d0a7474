/// @file
/// Random, primary and secondary rays of a scene.
#include "app/measure/rays/rays.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/render/surface.cuh"
#include "scenes/random.h"

namespace heapwood::app {
namespace {

using kdtree::Hit;
using kdtree::Ray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Numbers from 0 to 1, 1 excluded, in steps of a float.
class Random {
public:
    explicit Random(std::uint64_t seed) : bits_(seed) {}
    float unit() { return static_cast<float>(bits_.next() >> 40) * 0x1p-24F; }
    /// Each coordinate is one of them.
    vec3 point() {
        const float x = unit();
        const float y = unit();
        return {x, y, unit()};
    }
    std::uint64_t below(std::uint64_t bound) { return bits_.next() % bound; }

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

/// The direction from one point to another, of length 1; of a point to itself any.
vec3 direction_between(const vec3& from, const vec3& to) {
    const vec3 way = to - from;
    const float square = dot(way, way);
    if (square > 0x1p-100F && square < 0x1p100F) return unit(way);
    const glm::dvec3 exact(way);  // whose square neither vanishes nor overflows
    return dot(exact, exact) > 0 ? vec3(unit(exact)) : vec3{1, 0, 0};
}

/// The ray from one point to another, t being 1 there; where these are so near or far that its
/// direction would not be valid, a power of two.
Ray segment(const vec3& from, const vec3& to) {
    const vec3 way = to - from;
    const float longest = std::max({std::abs(way.x), std::abs(way.y), std::abs(way.z)});
    if (longest == 0 || (longest >= 0x1p-60F && longest <= 0x1p60F)) return {from, way, 0, 1};
    const int exponent = std::ilogb(longest);
    const auto shortened = [exponent](float x) { return std::ldexp(x, -exponent); };
    return {from,
            {shortened(way.x), shortened(way.y), shortened(way.z)},
            0,
            std::ldexp(1.0F, exponent)};
}

Surface surface_of(const scenes::Scene& scene, const Ray& ray, const Hit& hit, float off) {
    const glm::uvec3 t = scene.triangles[hit.triangle];
    const auto& positions = scene.positions;
    return surface_at(ray, hit.t, normal_of(positions[t.x], positions[t.y], positions[t.z]), off);
}

/// A point of the unit disc by rejection, lifted to the hemisphere: distributed by the cosine.
vec3 reflected(const Surface& surface, Random& random) {
    float x;
    float y;
    do {
        x = 2 * random.unit() - 1;
        y = 2 * random.unit() - 1;
    } while (x * x + y * y > 1);
    return surface.direction({x, y, std::sqrt(std::max(0.0F, 1 - x * x - y * y))});
}

}  // namespace

RaySet random_rays(const scenes::Scene& scene, std::uint64_t count, std::uint64_t seed) {
    RaySet set{"random", false, false, {}};
    Random random(seed);
    const vec3 extent = scene.bounds.hi - scene.bounds.lo;
    const auto point = [&] { return scene.bounds.lo + random.point() * extent; };
    set.rays.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const vec3 from = point();
        set.rays.push_back({from, direction_between(from, point()), 0, kInfinity});
    }
    return set;
}

std::vector<RaySet> random_points(const scenes::Scene& scene, std::uint64_t count,
                                  std::uint64_t seed) {
    RaySet uniform{"uniform", false, false, {}};
    RaySet near{"near-surface", false, false, {}};
    Random random(seed);
    const vec3 extent = scene.bounds.hi - scene.bounds.lo;
    const float off = length_of(scene) * 1e-3F;
    for (std::uint64_t i = 0; i < count; ++i) {
        uniform.rays.push_back({scene.bounds.lo + random.point() * extent, {0, 0, 0}, 0, 0});
        const glm::uvec3 t = scene.triangles[random.below(scene.triangles.size())];
        const vec3 a = scene.positions[t.x];
        float u = random.unit();
        float v = random.unit();
        if (u + v > 1) {
            u = 1 - u;
            v = 1 - v;
        }
        const vec3 on = a + (scene.positions[t.y] - a) * u + (scene.positions[t.z] - a) * v;
        near.rays.push_back({on + (random.point() * 2.0F - 1.0F) * off, {0, 0, 0}, 0, 0});
    }
    return {std::move(uniform), std::move(near)};
}

RaySet primary_rays(const Camera& camera, unsigned width) {
    RaySet set{"primary", false, true, {}};
    const View view = view_of(camera, width, width);
    const std::uint64_t count = std::uint64_t{width} * width;
    set.rays.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        const Pixel p = pixel(i, width);
        set.rays.push_back(
            primary_ray(view, static_cast<float>(p.x) + 0.5F, static_cast<float>(p.y) + 0.5F));
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
    const float size = length_of(scene);
    const vec3 light = light_of(scene, camera);
    Random random(~seed);
    for (std::uint64_t i = 0; !met.empty() && i < hits.size(); ++i) {
        const std::uint64_t k = met[i * met.size() / hits.size()];
        const Surface surface = surface_of(scene, primary[k], hits[k], size * 1e-5F);
        const vec3 direction = reflected(surface, random);
        bounce.rays.push_back({surface.point, direction, 0, kInfinity});
        shadow.rays.push_back(segment(surface.point, light));
        occlusion.rays.push_back({surface.point, direction, 0, size * 0.1F});
    }
    return {std::move(bounce), std::move(shadow), std::move(occlusion)};
}

}  // namespace heapwood::app
