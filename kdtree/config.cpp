#include "kdtree/config.h"

#include <cmath>
#include <stdexcept>

#include "kdtree/split_exact.cuh"

namespace heapwood::kdtree {

std::uint32_t max_depth(const BuildConfig& config, std::uint64_t triangles) {
    const double depth =
        config.depth_base + config.depth_factor * std::log2(static_cast<double>(triangles));
    if (!(depth > 0)) return 0;
    return depth < kMaxDepth ? static_cast<std::uint32_t>(std::lround(depth)) : kMaxDepth;
}

void validate(const BuildConfig& config) {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(what);
    };
    require(std::isfinite(config.traversal_cost) && config.traversal_cost >= 0,
            "the traversal cost must be a finite number, not below 0");
    require(std::isfinite(config.intersection_cost) && config.intersection_cost > 0,
            "the intersection cost must be a finite number above 0");
    require(config.empty_bonus > 0 && config.empty_bonus <= 1,
            "the empty-space bonus is a factor above 0 and at most 1");
    require(config.exact_limit <= kExactMax, "the exact limit must be at most 64");
    require(config.chunk == 0 || config.chunk >= 32, "the chunk must be at least 32 references");
    require(config.large_limit == 0 || config.large_limit >= config.exact_limit,
            "the large limit must not be below the exact limit");
    require(std::isfinite(config.depth_base) && std::isfinite(config.depth_factor),
            "the depth parameters must be finite");
}

}  // namespace heapwood::kdtree
