/// @file
/// What every builder makes of a scene and a configuration before it starts.
#pragma once

#include <vector>

#include "kdtree/config.h"
#include "kdtree/reference.cuh"
#include "kdtree/sah.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// The scene's triangles as the kernels read them.
/// @throws std::invalid_argument if there are none, or 2^30 or more.
std::vector<Triangle> gather(const scenes::Scene& scene);

/// The cost function's constants for a scene within `bounds`.
CostModel cost_model(const BuildConfig& config, const scenes::Bounds& bounds);

}  // namespace heapwood::kdtree
