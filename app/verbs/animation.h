/// @file
/// Pictures of an animation.
#pragma once

#include "app/backends/backend.h"
#include "app/cli/cli.h"
#include "app/verbs/publish.h"

namespace heapwood::app {

/// What `render` does for --frames: builds the trees of all frames by one builder, one after
/// another, where rays are traced, and writes a picture of each from the camera of the first.
/// Files have numbers in the place of the %d in --out; an older file is replaced when
/// its new picture is whole.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc.
ExitCode render_animation(const RenderOptions& options,
                          const std::vector<const Backend*>& available, Publisher& publisher);

}  // namespace heapwood::app
