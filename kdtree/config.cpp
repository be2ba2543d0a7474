#include "kdtree/config.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heapwood::kdtree {

std::uint32_t max_depth(const BuildConfig& config, std::uint64_t triangles) {
    const int log2 = static_cast<int>(std::bit_width(triangles)) - 1;
    const float depth = config.depth_base + config.depth_factor * static_cast<float>(log2);
    if (!(depth > 0)) return 0;
    return depth < kMaxDepth ? static_cast<std::uint32_t>(std::lround(depth)) : kMaxDepth;
}

std::uint32_t max_bad_splits(const BuildConfig& config, std::uint32_t depth) {
    const float splits =
        config.bad_splits + config.bad_splits_per_level * static_cast<float>(depth);
    // A path has no more splits than that.
    return static_cast<std::uint32_t>(std::min(splits, static_cast<float>(kMaxDepth)));
}

BuildConfig paper_preset() {
    BuildConfig c;
    c.traversal_cost = 1;
    c.intersection_cost = 1;
    c.empty_bonus = 1;
    c.empty_rule = EmptyRule::whole;
    c.leaf_limit = 3;
    c.leaf_area = 0;
    c.depth_base = 2;
    c.depth_factor = 1.2F;
    c.bad_split_ratio = 0.9F;
    c.bad_splits = 1;
    c.bad_splits_per_level = 0.26F;
    c.exact_limit = 0;
    c.planes = 32;
    c.tight_cuts = false;
    c.snap_limit = 0;
    c.clip = false;
    return c;
}

BuildConfig pbrt_preset() {
    BuildConfig c;
    c.traversal_cost = 1;
    c.intersection_cost = 80;
    c.empty_bonus = 0.5F;
    c.empty_rule = EmptyRule::tests;
    c.leaf_limit = 1;
    c.leaf_area = 0;
    c.depth_base = 8;
    c.depth_factor = 1.3F;
    c.bad_splits = 2;
    c.hopeless_ratio = 4;
    c.clip = false;
    return c;
}

const std::map<std::string, BuildConfig>& presets() {
    static const std::map<std::string, BuildConfig> all{
        {"default", {}}, {"paper", paper_preset()}, {"pbrt", pbrt_preset()}};
    return all;
}

const std::map<std::string, EmptyRule>& empty_rules() {
    static const std::map<std::string, EmptyRule> all{
        {"pays", EmptyRule::pays}, {"whole", EmptyRule::whole}, {"tests", EmptyRule::tests}};
    return all;
}

std::string name(EmptyRule rule) {
    for (const auto& [name, value] : empty_rules()) {
        if (value == rule) return name;
    }
    return "unknown";
}

}  // namespace heapwood::kdtree
