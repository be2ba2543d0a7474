/// @file
/// One allocator's turn: a few builds of one scene, and what came of them.
#pragma once

#include <functional>

#include "app/backends/backend.h"
#include "app/measure/report.h"
#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// What is built, and how.
struct Turn {
    const scenes::Scene& scene;
    const kdtree::BuildConfig& config;
    RunOptions run;
    bool verify = false;           ///< check the tree against the scene
    kdtree::Tree* tree = nullptr;  ///< where the finished tree goes, if it is wanted
};

/// Builds. Whatever goes wrong is in the result; nothing is thrown.
Result take_turn(const Backend& backend, const Turn& turn);

/// Does some more work for a result. What it throws becomes the result's outcome and message.
void guarded(Result& result, const std::function<void()>& work);

}  // namespace heapwood::app
