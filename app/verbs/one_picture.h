/// @file
/// What a picture and those of an animation have in common.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/cli/cli.h"
#include "app/render/pictures/picture_file.h"
#include "app/render/pictures/render_report.h"

namespace heapwood::app {

/// Milliseconds of a steady clock.
double ms_since(std::chrono::steady_clock::time_point start);

/// What the user says of the camera, and for the rest what suits the scene.
/// @param tree gives the tree of the rays on the host, if it is needed
Camera chosen_camera(const RenderOptions& options, const scenes::Scene& scene,
                     const kdtree::RayTree& rays, const std::function<kdtree::Tree()>& tree);

/// Says how much of `what` is done, and how long the rest takes, from now on.
Progress progress_of(const std::string& what);

/// The bytes of a picture's file; the report gets its colours.
std::string file_of(const Rendering& made, PictureFormat format, RenderReport& report);

}  // namespace heapwood::app
