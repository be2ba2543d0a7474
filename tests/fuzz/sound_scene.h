/// @file
/// What every scene promises that is returned (scenes/scene.h).
#pragma once

#include <cmath>

#include "scenes/scene.h"
#include "tests/fuzz/input_file.h"

namespace heapwood::fuzz {

/// Demands finite coordinates, no -0, indices that there are, and a triangle.
inline void demand_sound(const scenes::Scene& scene) {
    demand(!scene.triangles.empty(), "a scene without triangles");
    for (const glm::vec3& p : scene.positions) {
        for (const float x : {p.x, p.y, p.z}) {
            demand(std::isfinite(x) && (x != 0 || !std::signbit(x)), "a coordinate");
        }
    }
    for (const glm::uvec3& t : scene.triangles) {
        for (const std::uint32_t i : {t.x, t.y, t.z}) {
            demand(i < scene.positions.size(), "an index");
        }
    }
}

}  // namespace heapwood::fuzz
