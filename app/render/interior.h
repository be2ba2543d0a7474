/// @file
/// Views from within: for rooms, of which nothing is seen from outside.
#pragma once

#include <optional>

#include "app/render/camera.h"

namespace heapwood::app {

/// A place in a scene with much room around it, and a look at most of that; nothing for a scene
/// that shows itself to the outside. Found by rays, the same on every machine.
/// @param tree of the scene, on the host
std::optional<Camera> interior_camera(const scenes::Scene& scene, const kdtree::RayTree& tree);

}  // namespace heapwood::app
