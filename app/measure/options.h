/// @file
/// What users say of builds and rays, which results then tell of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/backends/measured_build.h"
#include "app/base/pool_size.h"
#include "kdtree/config.h"

namespace heapwood::app {

/// How trees are built and measured.
struct MeasureOptions {
    kdtree::BuildConfig config;
    /// What `config` has where no option says otherwise, or kPresetOfFile.
    std::string preset = "default";
    RunOptions run;             ///< its pool is that of a scene and an allocator
    bool verify = false;        ///< check each tree against its scene
    bool minimal_pool = false;  ///< find the smallest pool that is enough, too
};

/// What is compared, beside how trees are built.
struct ComparisonOptions {
    std::vector<std::string> scenes;  ///< paths and specifications
    std::vector<PoolSize> pools;      ///< none: default_pool_bytes
    double time_limit = 120;          ///< seconds that a turn may take
    double budget = 0;                ///< seconds that an allocator has for a scene; 0: any
    double within = 10;               ///< per cent that a smaller pool may cost
    bool published = false;           ///< show the papers' tables beside the results
};

/// Which rays are traced.
struct RayOptions {
    std::uint64_t rays = 1 << 20;  ///< of each kind, at least
    std::uint32_t seed = 1;
    bool fast = false;  ///< with FastTriangleTest
    /// GPUs that each have the tree and share the rays, by CUDA's numbers; none: the rays are not
    /// shared.
    std::vector<std::uint32_t> devices = {};
};

/// The preset of a configuration that a tree file has.
inline constexpr const char* kPresetOfFile = "file";

}  // namespace heapwood::app
