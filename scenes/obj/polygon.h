/// @file
/// Where a polygon is cut into triangles.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "scenes/glm.h"

namespace heapwood::scenes {

/// The corner from which a fan of triangles covers a polygon: the first one if the polygon is
/// convex, else the first of at most 32 for which no triangle of the fan lies outside. Quads and
/// pentagons that do not cross themselves always have one. Corners need not lie in one plane: the
/// polygon is seen along its mean normal (Newell's method).
/// @return nothing if there is no such corner.
std::optional<std::size_t> fan_corner(std::span<const glm::vec3> corners);

}  // namespace heapwood::scenes
