/// @file
/// A camera in JSON.
#pragma once

#include "app/render/camera.h"
#include "app/report/figures/shape.h"

namespace heapwood::app {

/// Where primary rays come from.
const Shape<Camera>& camera_shape();

}  // namespace heapwood::app
