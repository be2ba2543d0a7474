/// @file
/// Whether a triangle has an area, decided exactly.
#pragma once

#include "scenes/glm.h"

namespace heapwood::scenes {

/// Whether the corners lie on one line, or in one point. Exact for all finite coordinates: neither
/// the triangle's size nor its distance from the origin matters.
bool has_zero_area(const glm::vec3& a, const glm::vec3& b, const glm::vec3& c);

}  // namespace heapwood::scenes
