/// @file
/// What `render` found out: plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/measure/builds/report.h"
#include "app/render/camera.h"
#include "app/render/pictures/picture.h"
#include "app/render/render.h"

namespace heapwood::app {

/// A picture, and what it took.
struct RenderReport {
    Report origin;  ///< scene, machine and settings; the build, if there was one
    RenderSettings settings;
    std::string file;  ///< of the picture
    Camera camera{};
    std::uint64_t tree_digest = 0;
    std::vector<TracedRays> rays;
    double layout_ms = 0;  ///< from the tree in the host's memory to one that rays can read
    double render_ms = 0;
    std::optional<ColourScale> scale = std::nullopt;
    std::optional<MeanEffort> effort = std::nullopt;  ///< in the mode `cost`
};

}  // namespace heapwood::app
