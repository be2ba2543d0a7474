/// @file
/// A build in parts, whose tree is that of an ordinary build, bit for bit: workers and coordinator
/// make the top of the tree together (top_levels.h), each cell below it is built by itself, and
/// their trees are joined (join.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kdtree/build_result.h"
#include "kdtree/config.h"
#include "kdtree/distributed/join.h"
#include "kdtree/distributed/workers.h"
#include "kdtree/model/box.cuh"
#include "scenes/facts.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// What a coordinator knows of a scene.
struct ForestScene {
    std::uint32_t triangles;
    Box bounds;           ///< normalised
    float normalisation;  ///< of the whole scene
};
/// That of a scene that is in memory as a whole, or in shares.
ForestScene forest_scene(const scenes::Scene& scene);
ForestScene forest_scene(const scenes::SceneFacts& scene);

/// A level of the top.
struct ForestLevel {
    std::uint32_t open;           ///< nodes
    std::uint64_t bytes_to_part;  ///< decisions, to each part
    std::uint64_t bytes_of_part;  ///< bins, from each part
};

/// How a build in parts went. If the status is not done, `message` says why, and what the sink has
/// is no tree.
struct ForestResult {
    Status status = Status::done;
    std::string message;
    std::optional<std::uint32_t> depth_limit;  ///< as BuildResult's
    std::uint32_t builds = 0;  ///< to find that depth; of the last one is what follows
    std::vector<ForestLevel> levels;
    std::uint32_t cells = 0;
    std::uint32_t largest_cell = 0;     ///< references
    std::uint64_t cell_references = 0;  ///< of all cells together, before they are built
    std::uint64_t nodes = 0;
    std::uint64_t references = 0;
    double top_ms = 0;
    double cells_ms = 0;  ///< building and joining them
};

/// What a build in parts reports while it runs.
struct ForestProgress {
    /// Before each level of the top is divided.
    std::function<void(const ForestLevel& level)> level = [](const auto&) {};
    /// Before each cell is asked for: how many are done, and how many there are.
    std::function<void(std::uint32_t done, std::uint32_t cells)> cell = [](auto, auto) {};
    /// When all cells are known, before the first is built; may throw, which ends the build.
    std::function<void(const ForestResult& top)> cells_known = [](const auto&) {};
};

/// Builds a tree into `sink`. BuildConfig's capacities have no effect.
/// @param cell_limit of TopLevels.
/// @throws std::invalid_argument as a build does, and what the workers throw.
ForestResult build_forest(const ForestScene& scene, const BuildConfig& config,
                          std::uint32_t cell_limit, Workers& workers, TreeSink& sink,
                          const ForestProgress& progress = {});

}  // namespace heapwood::kdtree
