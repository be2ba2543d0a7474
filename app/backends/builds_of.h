/// @file
/// The functions of a Backend that build. Compiled for every allocator and machine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/backends/backend.h"
#include "app/backends/build_runs.h"
#include "app/backends/built_live_tree.h"
#include "app/backends/frame_runs.h"

namespace heapwood::app {

/// With allocator A, on the machine that Where makes: kdtree::OnCpu or kdtree::OnGpu.
template <allocators::Allocator A, class Where>
struct BuildsOf {
    using Machine =
        decltype(Where::template machine<A>(kdtree::BuildConfig(), kdtree::RunConfig()));

    static MeasuredBuild build(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                               const RunOptions& run) {
        return run_builds<A>(Where::template machine<A>(config, run), scene, config, run);
    }
    static MeasuredFrames frames(const std::vector<scenes::Scene>& scenes,
                                 const kdtree::BuildConfig& config, const RunOptions& run,
                                 const LookAtTree& look) {
        return run_frames<A>(Where::template machine<A>(config, run), scenes, config, run, look);
    }
    static std::unique_ptr<LiveTree> live_tree(std::uint64_t triangles,
                                               const kdtree::BuildConfig& config,
                                               const kdtree::RunConfig& run) {
        return std::make_unique<LiveTreeOf<A, Machine>>(Where::template machine<A>(config, run),
                                                        triangles, config, run);
    }
};

}  // namespace heapwood::app
