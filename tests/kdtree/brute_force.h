/// @file
/// Oracle for traversal: every triangle of the scene, one after the other.
#pragma once

#include "kdtree/tree/traversal.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

/// What closest_hit ought to find.
inline Hit closest_hit_by_force(const scenes::Scene& scene, const Ray& ray) {
    const TriangleTest test(ray);
    Hit best{};
    for (std::uint32_t i = 0; i < scene.triangles.size(); ++i) {
        const glm::uvec3 t = scene.triangles[i];
        Hit hit{};
        hit.triangle = i;
        if (!test(scene.positions[t.x], scene.positions[t.y], scene.positions[t.z], hit)) continue;
        if (!best.found() || hit.t < best.t) best = hit;
    }
    return best;
}

/// A view of a tree and a scene in host memory, which must outlive it.
inline TreeView view(const Tree& tree, const scenes::Scene& scene) {
    return {tree.nodes.data(), tree.references.data(), scene.positions.data(),
            scene.triangles.data(), tree.bounds};
}

}  // namespace heapwood::kdtree::tests
