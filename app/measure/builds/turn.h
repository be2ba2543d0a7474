/// @file
/// One allocator's turn: a few builds of one scene, and their result.
#pragma once

#include <cstdint>
#include <functional>

#include "app/backends/backend.h"
#include "app/measure/builds/report.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// What is built, and how.
struct Turn {
    const scenes::Scene& scene;
    const MeasureOptions& options;
    kdtree::Tree* keep = nullptr;  ///< where a sound tree goes; nullptr: nowhere
};

/// What a build's end is in a report.
Outcome outcome_of(kdtree::Status status);

/// What is known of a finished tree. @param triangles of its scene
TreeFacts facts_of(const kdtree::Tree& tree, const kdtree::BuildConfig& config,
                   std::uint64_t triangles);

/// Builds. Throws nothing: the result says what failed.
Result take_turn(const Backend& backend, const Turn& turn);

/// Does some more work for a result. What it throws becomes the result's outcome and message.
void guarded(Result& result, const std::function<void()>& work);

}  // namespace heapwood::app
