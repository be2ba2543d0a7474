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

/// A frame of an animation.
struct FramePicture {
    std::string file;
    double build_ms = 0;  ///< from the frame in the machine's memory until rays can be traced
    double render_ms = 0;
};

/// A picture, or those of an animation, and what they took.
struct RenderReport {
    Report origin;  ///< scene, machine and settings; the build, if there was one
    RenderSettings settings;
    std::string file;  ///< of the picture; of an animation the pattern
    Camera camera{};
    std::uint64_t tree_digest = 0;  ///< of an animation the first frame's
    std::vector<TracedRays> rays;   ///< of all frames together
    /// From the tree in the host's memory to one that rays can read; of an animation 0, for its
    /// trees stay where they are built.
    double layout_ms = 0;
    double render_ms = 0;
    std::vector<FramePicture> frames = {};  ///< none: of one picture
    std::optional<ColourScale> scale = std::nullopt;
    std::optional<MeanEffort> effort = std::nullopt;  ///< in the mode `cost`
};

}  // namespace heapwood::app
