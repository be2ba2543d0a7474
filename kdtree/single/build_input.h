/// @file
/// What every builder makes of a scene and a configuration before it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kdtree/config.h"
#include "kdtree/model/reference.cuh"
#include "kdtree/split/node_rules.cuh"
#include "scenes/facts.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// What a scene's coordinates are multiplied by before the build, and its planes are divided by
/// afterwards, so that no error bound of the builder depends on its size: a power of two. 1 for the
/// rare scene that spans so many magnitudes that this would change its smallest coordinates.
float normalisation(const scenes::Scene& scene);
/// The same of a scene with triangles within these bounds, and with such coordinates.
float normalisation(const scenes::Bounds& bounds, const scenes::Magnitudes& magnitudes);

/// @throws std::invalid_argument if a scene has no triangles, or 2^30 or more.
void require_triangles(std::uint64_t triangles);

/// The scene's triangles as the kernels read them, multiplied by `scale`.
/// @throws as require_triangles.
std::vector<Triangle> gather(const scenes::Scene& scene, float scale);

/// Triangles `begin` to `end` alone, and one of them.
std::vector<Triangle> gather(const scenes::Scene& scene, float scale, std::size_t begin,
                             std::size_t end);
inline Triangle triangle_of(const scenes::Scene& scene, std::size_t number, float scale) {
    const glm::uvec3& t = scene.triangles[number];
    return {scene.positions[t.x] * scale, 0, scene.positions[t.y] * scale, 0,
            scene.positions[t.z] * scale, 0};
}

}  // namespace heapwood::kdtree
