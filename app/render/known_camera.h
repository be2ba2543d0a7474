/// @file
/// Where the published scenes are seen from: scenes/cameras.json, compiled in.
#pragma once

#include <cstdint>

#include "app/render/camera.h"

namespace heapwood::app {

/// The text of scenes/cameras.json.
extern const char* const kCamerasText;

/// The camera of the published scene of that digest (scenes/digest.h), whatever its file is called;
/// nullptr if no published scene has it.
const Camera* known_camera(std::uint64_t digest);

}  // namespace heapwood::app
