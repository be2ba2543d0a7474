#include "app/render/interior.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "app/render/surface.cuh"
#include "kdtree/rays/traversal.cuh"
#include "scenes/random.h"

namespace heapwood::app {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

vec3 direction_from(scenes::Random& random) {
    const scenes::Point p = random.direction();
    return {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
}

/// Whether a ray from either side of most triangles leaves the scene.
bool is_open(const scenes::Scene& scene, const kdtree::RayTree& tree) {
    constexpr std::uint64_t kTriangles = 1024;
    constexpr int kRays = 16;
    const float off = offset_of(scene.bounds);
    const std::uint64_t count = std::min<std::uint64_t>(kTriangles, scene.triangles.size());
    std::uint64_t open = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        scenes::Random random(1, i);
        const glm::uvec3 t = scene.triangles[i * scene.triangles.size() / count];
        const vec3& a = scene.positions[t.x];
        const vec3& b = scene.positions[t.y];
        const vec3& c = scene.positions[t.z];
        const vec3 middle = a * (1 / 3.0F) + b * (1 / 3.0F) + c * (1 / 3.0F);
        const vec3 normal = normal_of(a, b, c);
        for (int ray = 0; ray < kRays; ++ray) {
            const vec3 direction = direction_from(random);
            const float side = dot(direction, normal) < 0 ? -off : off;
            if (!any_hit(tree.view(), {middle + normal * side, direction, 0, kInfinity})) {
                ++open;
                break;
            }
        }
    }
    return 2 * open >= count;
}

/// How far a ray gets, in parts of the scene's size; beyond the scene not at all.
float reach(const kdtree::RayTree& tree, float size, const vec3& from, const vec3& direction) {
    const kdtree::Hit hit = closest_hit(tree.view(), {from, direction, 0, kInfinity});
    return hit.found() ? std::min(hit.t / size, 0.5F) : 0;
}

/// Directions all around, none of them level.
std::array<vec3, 16> around(float rise) {
    constexpr float kEighths[] = {0, 0.38268343F, 0.70710678F, 0.92387953F, 1};
    std::array<vec3, 16> all;
    for (int i = 0; i < 4; ++i) {
        const float s = kEighths[i];
        const float c = kEighths[4 - i];
        all[i] = unit(vec3{c, rise, s});
        all[i + 4] = unit(vec3{-s, rise, c});
        all[i + 8] = unit(vec3{-c, rise, -s});
        all[i + 12] = unit(vec3{s, rise, -c});
    }
    return all;
}

}  // namespace

std::optional<Camera> interior_camera(const scenes::Scene& scene, const kdtree::RayTree& tree) {
    if (is_open(scene, tree)) return std::nullopt;
    const vec3& lo = scene.bounds.lo;
    const vec3 extent = scene.bounds.hi - lo;
    const float size = std::sqrt(dot(extent, extent));
    const std::array<vec3, 16> level = around(-0.08F);
    const std::array<vec3, 16> above = around(0.6F);
    Camera best{lo, lo, 75};
    float most = 0;
    for (const float x : {0.15F, 0.3F, 0.5F, 0.7F, 0.85F}) {
        for (const float y : {0.3F, 0.45F, 0.6F}) {
            for (const float z : {0.15F, 0.3F, 0.5F, 0.7F, 0.85F}) {
                const vec3 eye = lo + vec3{x, y, z} * extent;
                std::array<float, 16> reached;
                float nearest = 1;
                for (int i = 0; i < 16; ++i) {
                    reached[i] = reach(tree, size, eye, level[i]);
                    nearest = std::min({nearest, reached[i], reach(tree, size, eye, above[i])});
                }
                for (int i = 0; i < 16; ++i) {
                    const float ahead = reached[i] + reached[(i + 1) % 16] + reached[(i + 15) % 16];
                    const float room = std::min(nearest, 0.05F) * ahead;
                    if (room > most) {
                        most = room;
                        best.eye = eye;
                        best.target = eye + level[i] * (reached[i] * size);
                    }
                }
            }
        }
    }
    return most > 0 ? std::optional(best) : std::nullopt;
}

}  // namespace heapwood::app
