/// @file
/// The level method on a GPU.
#include "kdtree/levels/gpu_levels.cuh"
#include "kdtree/levels/level_builder.h"
#include "kdtree/levels/level_driver.h"

namespace heapwood::kdtree {

BuildResult build_by_levels_on_gpu(const scenes::Scene& scene, const BuildConfig& config,
                                   const RunConfig& run) {
    GpuLevels machine;
    return drive_levels(machine, scene, config, run);
}

BuildResult build_by_levels_on_gpu(const LevelInput& input, const BuildConfig& config,
                                   const RunConfig& run) {
    GpuLevels machine;
    return drive_levels(machine, input, config, run);
}

}  // namespace heapwood::kdtree
