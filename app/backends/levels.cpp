#include "app/backends/backend.h"
#include "kdtree/levels/level_builder.h"

namespace heapwood::app {
namespace {

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
    static const Backend on_cpu{.traits = kLevels,
                                .gpu = false,
                                .build = &kdtree::build_by_levels_on_cpu,
                                .method = Method::levels};
    static const Backend on_gpu{.traits = kLevels,
                                .gpu = true,
                                .build = &kdtree::build_by_levels_on_gpu,
                                .method = Method::levels};
    return gpu ? on_gpu : on_cpu;
}

}  // namespace heapwood::app
