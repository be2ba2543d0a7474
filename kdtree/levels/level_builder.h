/// @file
/// The level method: the tree built level by level, by many kernel launches with nothing
/// allocated inside, as by Wu et al. 2011 and in the comparisons of Vinkler & Havran, who found a
/// single kernel with an allocator 25 to 45 % faster. This is for measuring that.
///
/// The tree is the single kernel's, bit for bit. Every array is of exactly the size that the level
/// before it has counted; arrays come from an ArrayPool, and are live for two levels at most.
#pragma once

#include "kdtree/build_result.h"
#include "kdtree/config.h"
#include "kdtree/levels/level_input.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Builds the tree of a scene once on this machine's CPU. The fields of RunConfig that concern
/// the single kernel's allocator (pool_bytes, choices) have no effect, nor has
/// BuildConfig::large_limit; its capacities only limit, and are exceeded while a build looks
/// whether it is over max_duplication.
///
/// BuildResult::build_ms is the whole build, from triangles to finished nodes and references
/// with all requests to the array pool. Nothing is known of its allocations, and pool_bytes is the
/// most that the array pool has held during the build.
/// @throws std::invalid_argument for a bad configuration or a tree of too many nodes or
/// references, allocators::BufferError when memory cannot be had.
BuildResult build_by_levels_on_cpu(const scenes::Scene& scene, const BuildConfig& config,
                                   const RunConfig& run);

/// The same on the current GPU, measured by CUDA events.
/// @throws also std::runtime_error with what CUDA answered, or where there is no CUDA.
BuildResult build_by_levels_on_gpu(const scenes::Scene& scene, const BuildConfig& config,
                                   const RunConfig& run);

/// Builds a node, and all that is below it, once on this machine's CPU. The tree is that of the
/// node alone: its root is the node, and its references name triangles by their place in the input.
/// A tree of more references than the input's budget ends as over_budget.
/// @throws as build_by_levels_on_cpu does for a scene.
BuildResult build_by_levels_on_cpu(const LevelInput& input, const BuildConfig& config,
                                   const RunConfig& run);

/// The same on the current GPU. @throws as build_by_levels_on_gpu does for a scene.
BuildResult build_by_levels_on_gpu(const LevelInput& input, const BuildConfig& config,
                                   const RunConfig& run);

}  // namespace heapwood::kdtree
