#include "kdtree/config.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_exact.cuh"

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
    const auto finite = [](float value) { return std::isfinite(value) && value >= 0; };
    require(finite(config.leaf_area), "the leaf area must be a finite number, not below 0");
    require(finite(config.bad_split_ratio) && config.bad_split_ratio > 0,
            "the ratio of bad splits must be a finite number above 0");
    require(finite(config.bad_splits) && finite(config.bad_splits_per_level),
            "the numbers of bad splits must be finite, not below 0");
    require(finite(config.hopeless_ratio),
            "the ratio of hopeless splits must be a finite number, not below 0");
    require(config.planes >= 3 && config.planes <= 3 * (kBins - 1), "there must be 3 to 93 planes");
    require(config.snap_limit <= 0xffff, "the snap limit must be at most 65535");
    require(config.exact_limit <= kExactMax, "the exact limit must be at most 64");
    require(config.chunk == 0 || config.chunk >= 32, "the chunk must be at least 32 references");
    require(config.large_limit == 0 || config.large_limit >= config.exact_limit,
            "the large limit must not be below the exact limit");
    require(std::isfinite(config.depth_base) && std::isfinite(config.depth_factor),
            "the depth parameters must be finite");
}

}  // namespace heapwood::kdtree
