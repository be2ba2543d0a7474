/// @file
/// Closed surfaces of a few triangles that wind alike.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenes/scene.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

/// A box of 12 triangles, each with corners of its own, seen counterclockwise from outside.
inline scenes::Scene box_scene(const glm::vec3& lo, const glm::vec3& hi) {
    std::vector<glm::vec3> corners;
    for (int axis = 0; axis < 3; ++axis) {
        const int u = (axis + 1) % 3;
        const int v = (axis + 2) % 3;
        for (const bool high : {false, true}) {
            const auto at = [&](bool along_u, bool along_v) {
                glm::vec3 p;
                p[axis] = high ? hi[axis] : lo[axis];
                p[u] = along_u ? hi[u] : lo[u];
                p[v] = along_v ? hi[v] : lo[v];
                return p;
            };
            const auto a = at(false, false), b = at(true, false), c = at(true, true),
                       d = at(false, true);
            if (high) {
                corners.insert(corners.end(), {a, b, c, a, c, d});
            } else {
                corners.insert(corners.end(), {a, c, b, a, d, c});
            }
        }
    }
    return scene_of(corners, "box");
}

/// A star of spikes around a small octahedron: convex and concave, sharp edges and corners.
inline scenes::Scene star_scene(float sharpness) {
    std::vector<glm::vec3> corners;
    for (const float x : {-1.0F, 1.0F}) {
        for (const float y : {-1.0F, 1.0F}) {
            for (const float z : {-1.0F, 1.0F}) {
                const glm::vec3 a{x, 0, 0};
                glm::vec3 b{0, y, 0};
                glm::vec3 c{0, 0, z};
                if (x * y * z < 0) std::swap(b, c);
                const glm::vec3 tip = glm::vec3{x, y, z} * sharpness;
                corners.insert(corners.end(), {a, b, tip, b, c, tip, c, a, tip});
            }
        }
    }
    return scene_of(corners, "star " + std::to_string(sharpness));
}

/// A spike on a triangle, one of whose three sides is `parts` triangles: those of one side
/// outnumber the others at the tip.
inline scenes::Scene lopsided_scene(unsigned parts) {
    const glm::vec3 a{1, 0, 0};
    const glm::vec3 b{-0.5F, 0.875F, 0};
    const glm::vec3 c{-0.5F, -0.875F, 0};
    const glm::vec3 tip{0, 0, 4};
    std::vector<glm::vec3> corners{b, c, tip, c, a, tip};
    glm::vec3 from = a;
    for (unsigned i = 1; i <= parts; ++i) {
        const float part = static_cast<float>(i) / static_cast<float>(parts);
        const glm::vec3 to = i == parts ? b : a + (b - a) * part;
        corners.insert(corners.end(), {from, to, tip, to, from, c});
        from = to;
    }
    return scene_of(corners, "lopsided");
}

}  // namespace heapwood::kdtree::tests
