/// @file
/// A scene as the one part of a build in parts, in the memory of the machine that builds its cells:
/// the host only decides on the top, and moves finished pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kdtree/distributed/cell_place.h"
#include "kdtree/distributed/top_levels.h"
#include "kdtree/distributed/workers.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// For one thread at a time, but for hand_over().
class ScenePart {
public:
    virtual ~ScenePart() = default;

    /// As those of Part (part.h). The first start() reads the scene.
    /// @throws allocators::BufferError when memory cannot be had.
    virtual std::vector<Bins> start(const TopStart& start) = 0;
    virtual std::vector<Bins> divide(std::span<const Decision> decisions) = 0;

    /// Builds a cell, which the part then has no longer.
    /// @return its numbers of nodes and references, or why it is not done.
    /// @throws as start, and as a build by levels.
    virtual CellResult build(const CellOrder& cell, const TreeRules& rules) = 0;
    /// Brings the tree that was built last into canonical form, numbered for its place, in memory
    /// of its own. Only after a build that is done.
    virtual void put(const CellPlace& place) = 0;
    /// Copies that tree to the sink, which has room for it, by several threads. One thread may
    /// build the next cell meanwhile. @throws what the sink throws.
    virtual void hand_over(const CellPlace& place, TreeSink& sink) = 0;
};

/// A part on a CPU. Refers to the scene.
/// @param scale what coordinates are multiplied by (normalisation())
std::unique_ptr<ScenePart> scene_part_on_cpu(const scenes::Scene& scene, float scale,
                                             const BuildConfig& config, unsigned threads);

/// The same on a GPU, by its number. @param threads of the host that hand cells over; 0: one a core
/// @throws std::runtime_error with what CUDA answered, or where there is no CUDA.
std::unique_ptr<ScenePart> scene_part_on_gpu(const scenes::Scene& scene, float scale,
                                             const BuildConfig& config, std::uint32_t device,
                                             unsigned threads);

}  // namespace heapwood::kdtree
