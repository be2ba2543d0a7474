/// @file
/// What happens between batches of rays. Each stage is called once for each sample (the last one:
/// for each slot), in any order, by a GPU's threads or a CPU's; each says how many rays it has
/// made. All that they compute is from + - * / and sqrt, so that pictures are equal bit for bit.
#pragma once

#include <cstdint>

#include "app/render/batch.cuh"
#include "app/render/sampling.cuh"
#include "app/render/surface.cuh"
#include "kdtree/distance/nearest.cuh"
#include "kdtree/rays/ray_effort.cuh"

namespace heapwood::app {

/// How many rays a stage has made.
struct Made {
    std::uint32_t rays = 0;
    std::uint32_t shadow_rays = 0;
};

/// How many rays all calls of a stage have made.
struct Total {
    std::uint64_t rays = 0;
    std::uint64_t shadow_rays = 0;

    void add(const Made& made) {
        rays += made.rays;
        shadow_rays += made.shadow_rays;
    }
};

/// What all stages have in common.
struct Stage {
    Batch b;

    HEAPWOOD_INLINE Pixel pixel(std::uint64_t i) const {
        return pixel_of(b.view, b.first_slot + i / b.settings.samples);
    }
    HEAPWOOD_INLINE Sampler sampler(std::uint64_t i) const {
        const Pixel p = pixel(i);
        return {b.settings.seed, p.y * b.view.width + p.x,
                static_cast<std::uint32_t>(i % b.settings.samples)};
    }
    /// Where a sample's ray has ended: only if it has met something.
    HEAPWOOD_INLINE Surface surface(std::uint64_t i) const {
        const kdtree::Hit& hit = b.hits[i];
        return surface_at(b.rays[i], hit.t, b.normals[hit.triangle], b.lighting.offset);
    }
};

/// Rays from the eye.
struct EyeStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        const Pixel p = pixel(i);
        b.rays[i] = no_ray();
        b.shades[i] = {{0, 0, 0}, 0};
        if (!is_in(b.view, p)) return {};
        const Point2 place = b.settings.samples == 1 ? Point2{0.5F, 0.5F} : sampler(i).place();
        b.rays[i] = primary_ray(b.view, static_cast<float>(p.x) + place.x,
                                static_cast<float>(p.y) + place.y);
        return {.rays = 1};
    }
};

/// Normals, and depths.
struct SurfaceStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        if (!b.hits[i].found()) return {};
        if (b.settings.mode == Mode::normal) {
            b.shades[i] = {surface(i).normal, 1};
        } else {
            b.shades[i] = {{b.hits[i].t * dot(b.rays[i].direction, b.view.ahead), 0, 0}, 1};
        }
        return {};
    }
};

/// What the tree has to do with a ray from the eye. Traces it, too.
struct TreeStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        if (!is_in(b.view, pixel(i))) return {};
        kdtree::RayEffort effort;
        const kdtree::Hit hit = kdtree::closest_hit(b.tree, b.rays[i], effort);
        const auto count = [](std::uint32_t n) { return static_cast<float>(n); };
        if (b.settings.mode == Mode::cost) {
            b.shades[i] = {{count(effort.nodes), count(effort.leaves), count(effort.tests)}, 1};
        } else if (hit.found()) {
            const LeafFacts& leaf = b.leaves[effort.reference];
            b.shades[i] = {
                {count(b.settings.mode == Mode::leaf_size ? leaf.size : leaf.depth), 0, 0}, 1};
        }
        return {};
    }
};

/// How far the nearest surface is from where a ray from the eye meets the plane. Finds it, too.
struct DistanceStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        if (!is_in(b.view, pixel(i))) return {};
        const kdtree::Ray& ray = b.rays[i];
        const float t = b.slice / dot(ray.direction, b.view.ahead);
        kdtree::NearestWalk nearest(b.tree, ray.origin + ray.direction * t,
                                    platform::bits_float(0x7F800000U));
        nearest.run();
        if (nearest.has_found()) b.shades[i] = {{nearest.distance(), 0, 0}, 1};
        return {};
    }
};

/// Rays that ask whether there is free space above a surface.
struct OcclusionStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        b.shadow_rays[i] = no_ray();
        if (!b.hits[i].found()) return {};
        const Surface at = surface(i);
        b.shadow_rays[i] = {at.point, at.direction(in_hemisphere(sampler(i).direction())), 0,
                            b.lighting.reach};
        b.shades[i].weight = 1;
        return {.shadow_rays = 1};
    }
};

/// Their answers.
struct OpennessStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        if (b.hits[i].found() && b.blocked[i] == 0) b.shades[i].value = {1, 1, 1};
        return {};
    }
};

/// A path has come to a surface, or to the sky: a ray to the light, and one that goes on.
struct BounceStage : Stage {
    unsigned bounce;  ///< how many there were

    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        PathState& path = b.paths[i];
        if (bounce == 0) path = {{1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
        path.pending = {0, 0, 0};  // of the bounce before, which has been counted
        b.shadow_rays[i] = no_ray();
        const bool ends_in_sky =
            b.settings.mode == Mode::path && b.rays[i].is_valid() && !b.hits[i].found();
        if (ends_in_sky) {
            path.gathered = path.gathered + path.throughput * sky(b.rays[i].direction);
        }
        if (bounce == 0) b.shades[i].weight = ends_in_sky || b.hits[i].found() ? 1 : 0;
        Made made;
        if (b.hits[i].found()) {
            const Surface at = surface(i);
            path.throughput = path.throughput * kAlbedo;
            if (b.settings.mode == Mode::shaded) from_eye(path, at, b.rays[i].direction);
            made.shadow_rays = to_light(path, at, i);
            if (bounce < b.settings.bounces) {
                const Point2 square =
                    bounce == 0 ? sampler(i).direction() : sampler(i).other(2 * bounce + 1);
                b.rays[i] = {at.point, at.direction(in_hemisphere(square)), 0,
                             platform::bits_float(0x7F800000U)};
                made.rays = 1;
            }
        }
        if (made.rays == 0) b.rays[i] = no_ray();
        return made;
    }

private:
    static constexpr float kAlbedo = 0.6F;

    /// Blue, and paler towards the horizon.
    HEAPWOOD_INLINE vec3 sky(const vec3& direction) const {
        const float rise = dot(direction, b.lighting.up);
        const float blue = rise > 0 ? rise : 0;
        return vec3{0.52F - 0.28F * blue, 0.61F - 0.22F * blue, 0.7F - 0.04F * blue};
    }

    /// Some light comes from where the eye is, so that nothing is black.
    HEAPWOOD_INLINE void from_eye(PathState& path, const Surface& at, const vec3& ray) const {
        const float facing = -dot(at.normal, ray);
        path.gathered = path.throughput * (0.15F + 0.4F * facing);
    }

    /// A ray to a point of the light. @return how many rays that is.
    HEAPWOOD_INLINE std::uint32_t to_light(PathState& path, const Surface& at,
                                           std::uint64_t i) const {
        const Lighting& lighting = b.lighting;
        const vec3 target =
            lighting.light + on_sphere(sampler(i).other(2 * bounce)) * lighting.radius;
        // In units of the scene's size, so that no square overflows.
        const vec3 towards = (target - at.point) * (1 / lighting.size);
        const float square = dot(towards, towards);
        const float facing = dot(at.normal, towards);
        if (!(facing > 0) || !(square > 1e-12F)) return 0;
        const float cosine = facing / std::sqrt(square);
        if (b.settings.mode == Mode::shaded) {
            path.pending = path.throughput * (0.85F * cosine);
        } else {
            const float nearest = lighting.reference * 0.05F;
            const float fading = lighting.reference / (square > nearest ? square : nearest);
            path.pending = path.throughput * vec3{1, 0.9F, 0.76F} * (2 * fading * cosine);
        }
        b.shadow_rays[i] = {at.point, towards, 0, lighting.size};
        return 1;
    }
};

/// Light that no shadow falls on.
struct LightStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        PathState& path = b.paths[i];
        if (b.blocked[i] == 0) path.gathered = path.gathered + path.pending;
        return {};
    }
};

/// Paths end.
struct EndStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t i) const {
        b.shades[i].value = b.paths[i].gathered;
        return {};
    }
};

/// The mean of a slot's samples, in their order.
struct PixelStage : Stage {
    HEAPWOOD_INLINE Made operator()(std::uint64_t slot) const {
        const Pixel p = pixel_of(b.view, b.first_slot + slot);
        if (!is_in(b.view, p)) return {};
        vec3 sum{0, 0, 0};
        float weight = 0;
        for (std::uint32_t s = 0; s < b.settings.samples; ++s) {
            const Shade& shade = b.shades[slot * b.settings.samples + s];
            sum = sum + shade.value;
            weight += shade.weight;
        }
        const std::uint64_t at = std::uint64_t{p.y} * b.view.width + p.x;
        b.picture[at] = {weight > 0 ? sum * (1 / weight) : sum,
                         weight / static_cast<float>(b.settings.samples)};
        return {};
    }
};

}  // namespace heapwood::app
