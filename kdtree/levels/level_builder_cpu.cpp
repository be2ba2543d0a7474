/// @file
/// The level method on a CPU.
#include "kdtree/levels/cpu_levels.h"
#include "kdtree/levels/level_builder.h"
#include "kdtree/levels/level_driver.h"

namespace heapwood::kdtree {
namespace {

/// Builds a scene's tree, or a node's.
template <class Input>
BuildResult build(const Input& input, const BuildConfig& config, const RunConfig& run) {
    CpuLevels machine(run.threads);
    BuildResult result = drive_levels(machine, input, config, run);
    result.warps = machine.threads();
    return result;
}

}  // namespace

BuildResult build_by_levels_on_cpu(const scenes::Scene& scene, const BuildConfig& config,
                                   const RunConfig& run) {
    return build(scene, config, run);
}

BuildResult build_by_levels_on_cpu(const LevelInput& input, const BuildConfig& config,
                                   const RunConfig& run) {
    return build(input, config, run);
}

}  // namespace heapwood::kdtree
