/// @file
/// The builder as its users call it: a scene and a configuration in, a canonical tree out. In a .cu
/// file it builds on a GPU as well. (Many builds: kdtree/rebuild.h. Without an allocator:
/// kdtree/levels/level_builder.h.)
#pragma once

#include "kdtree/build_result.h"
#include "kdtree/config.h"
#include "kdtree/rebuild.h"
#include "kdtree/single/cpu_machine.h"
#include "scenes/scene.h"

#if defined(__CUDACC__)
#include "kdtree/single/gpu_machine.cuh"
#endif

namespace heapwood::kdtree {

/// Builds the tree of a scene once, on this machine's CPU, with arrays from allocator A. A pool
/// that is too small is no error: the result's status says so.
/// @throws std::invalid_argument for a bad configuration or scene, allocators::BufferError when
/// the machine refuses memory.
template <allocators::Allocator A>
BuildResult build_on_cpu(const scenes::Scene& scene, const BuildConfig& config,
                         const RunConfig& run) {
    return build_on<A>(CpuMachine(run.threads, run.stop), scene, config, run);
}

#if defined(__CUDACC__)
/// The same on the current GPU. @throws also std::runtime_error with what CUDA answered.
template <allocators::Allocator A>
BuildResult build_on_gpu(const scenes::Scene& scene, const BuildConfig& config,
                         const RunConfig& run) {
    return build_on<A>(GpuMachine<A>(config), scene, config, run);
}
#endif

}  // namespace heapwood::kdtree
