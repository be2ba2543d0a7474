#include "app/backends/backend.h"
#include "kdtree/levels/level_builder.h"

namespace heapwood::app {
namespace {

using Build = kdtree::BuildResult (*)(const scenes::Scene&, const kdtree::BuildConfig&,
                                      const kdtree::RunConfig&);

/// Several builds, whose arrays are those of the first.
template <Build kBuild, allocators::Place kPlace>
MeasuredBuild run_levels(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                         const RunOptions& run) {
    allocators::ArrayPool own_pool(kPlace, run.keep);
    const kdtree::RunConfig one = run.config(own_pool);
    MeasuredBuild result;
    for (unsigned i = 0; i < run.warm_up + run.repeat; ++i) {
        static_cast<kdtree::BuildResult&>(result) = kBuild(scene, config, one);
        if (result.status != kdtree::Status::done) return result;
        if (i >= run.warm_up) result.milliseconds.push_back(result.build_ms);
    }
    return result;
}

constexpr allocators::Traits kLevels{.name = "levels",
                                     .title = "level by level, without an allocator",
                                     .source = "Wu et al. 2011",
                                     .frees_individually = true,
                                     .full = true,
                                     .walkable = false,
                                     .header_bytes = 0,
                                     .smallest_pool = 0};

}  // namespace

const Backend& level_backend(bool gpu) {
    static const Backend on_cpu{
        .traits = kLevels,
        .gpu = false,
        .build = &run_levels<&kdtree::build_by_levels_on_cpu, allocators::Place::host>,
        .method = Method::levels};
    static const Backend on_gpu{
        .traits = kLevels,
        .gpu = true,
        .build = &run_levels<&kdtree::build_by_levels_on_gpu, allocators::Place::device>,
        .method = Method::levels};
    return gpu ? on_gpu : on_cpu;
}

}  // namespace heapwood::app
