/// @file
/// Vectors of cameras and surfaces. From + - * / and sqrt alone, so that a GPU and a CPU compute
/// the same bits.
#pragma once

#include <cmath>

#include "allocators/platform/macros.cuh"
#include "scenes/glm.h"

namespace heapwood::app {

using glm::vec3;

// No templates: GLM's own would be found beside them.
HEAPWOOD_INLINE float dot(const vec3& a, const vec3& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
HEAPWOOD_INLINE double dot(const glm::dvec3& a, const glm::dvec3& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

HEAPWOOD_INLINE vec3 cross(const vec3& a, const vec3& b) {
    return {a.y * b.z - b.y * a.z, a.z * b.x - b.z * a.x, a.x * b.y - b.x * a.y};
}
HEAPWOOD_INLINE glm::dvec3 cross(const glm::dvec3& a, const glm::dvec3& b) {
    return {a.y * b.z - b.y * a.z, a.z * b.x - b.z * a.x, a.x * b.y - b.x * a.y};
}

/// Of length 1, in the same direction. The vector's square must be neither zero nor too large.
template <class Vector>
HEAPWOOD_INLINE Vector unit(const Vector& v) {
    return v * (1 / std::sqrt(dot(v, v)));
}

}  // namespace heapwood::app
