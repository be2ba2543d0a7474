/// @file
/// What BuildConfig's fields may be, and how deep trees may get.
#include "kdtree/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace heapwood::kdtree::tests {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Changes one field and expects an error that speaks of it.
template <class Change>
void expect_refused(const Change& change, const std::string& word) {
    BuildConfig config;
    change(config);
    try {
        validate(config);
        FAIL() << word << ": accepted";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
}

template <class Change>
void expect_accepted(const Change& change) {
    BuildConfig config;
    change(config);
    EXPECT_NO_THROW(validate(config));
}

TEST(BuildConfig, DefaultsAreValid) {
    EXPECT_NO_THROW(validate(BuildConfig{}));
}

TEST(BuildConfig, BadValuesAreRefused) {
    for (const float bad : {-1.0F, -1e-30F, kInfinity, -kInfinity, kNan}) {
        expect_refused([=](BuildConfig& c) { c.traversal_cost = bad; }, "traversal cost");
        expect_refused([=](BuildConfig& c) { c.intersection_cost = bad; }, "intersection cost");
        expect_refused([=](BuildConfig& c) { c.empty_bonus = bad; }, "bonus");
    }
    expect_refused([](BuildConfig& c) { c.intersection_cost = 0; }, "intersection cost");
    expect_refused([](BuildConfig& c) { c.empty_bonus = 0; }, "bonus");
    expect_refused([](BuildConfig& c) { c.empty_bonus = 1.001F; }, "bonus");
    for (const float bad : {kInfinity, -kInfinity, kNan}) {
        expect_refused([=](BuildConfig& c) { c.depth_base = bad; }, "depth");
        expect_refused([=](BuildConfig& c) { c.depth_factor = bad; }, "depth");
    }
    for (const float bad : {-1.0F, kInfinity, kNan}) {
        expect_refused([=](BuildConfig& c) { c.leaf_area = bad; }, "leaf area");
        expect_refused([=](BuildConfig& c) { c.bad_split_ratio = bad; }, "ratio of bad splits");
        expect_refused([=](BuildConfig& c) { c.bad_splits = bad; }, "numbers of bad splits");
        expect_refused([=](BuildConfig& c) { c.bad_splits_per_level = bad; },
                       "numbers of bad splits");
        expect_refused([=](BuildConfig& c) { c.hopeless_ratio = bad; }, "hopeless");
    }
    expect_refused([](BuildConfig& c) { c.bad_split_ratio = 0; }, "ratio of bad splits");
    expect_refused([](BuildConfig& c) { c.planes = 2; }, "planes");
    expect_refused([](BuildConfig& c) { c.planes = 94; }, "planes");
    expect_refused([](BuildConfig& c) { c.snap_limit = 65536; }, "snap limit");
    expect_refused([](BuildConfig& c) { c.exact_limit = 65; }, "exact limit");
    expect_refused([](BuildConfig& c) { c.exact_limit = ~0U; }, "exact limit");
    expect_refused([](BuildConfig& c) { c.chunk = 31; }, "chunk");
    expect_refused([](BuildConfig& c) { c.chunk = 1; }, "chunk");
    expect_refused([](BuildConfig& c) { c.large_limit = c.exact_limit - 1; }, "large limit");
    expect_refused([](BuildConfig& c) { c.large_limit = 1; }, "large limit");
}

TEST(BuildConfig, ExtremeValuesAreAccepted) {
    expect_accepted([](BuildConfig& c) { c.traversal_cost = 0; });
    expect_accepted([](BuildConfig& c) { c.traversal_cost = 1e30F; });
    expect_accepted([](BuildConfig& c) { c.intersection_cost = 1e-30F; });
    expect_accepted([](BuildConfig& c) { c.empty_bonus = 1; });
    expect_accepted([](BuildConfig& c) { c.exact_limit = 0; });
    expect_accepted([](BuildConfig& c) { c.exact_limit = 64; });
    expect_accepted([](BuildConfig& c) { c.large_limit = c.exact_limit; });
    expect_accepted([](BuildConfig& c) { c.leaf_area = 0; });
    expect_accepted([](BuildConfig& c) { c.leaf_area = 1e30F; });
    expect_accepted([](BuildConfig& c) { c.bad_split_ratio = 1e-30F; });
    expect_accepted([](BuildConfig& c) { c.bad_splits = 1e30F; });
    expect_accepted([](BuildConfig& c) { c.hopeless_ratio = 0; });
    expect_accepted([](BuildConfig& c) { c.planes = 3; });
    expect_accepted([](BuildConfig& c) { c.snap_limit = 0; });
    expect_accepted([](BuildConfig& c) { c.snap_limit = 65535; });
    expect_accepted([](BuildConfig& c) { c.chunk = 32; });
    expect_accepted([](BuildConfig& c) { c.large_limit = c.chunk = 0; });
    expect_accepted([](BuildConfig& c) { c.leaf_limit = 0; });
    expect_accepted([](BuildConfig& c) { c.leaf_limit = ~0U; });
    expect_accepted([](BuildConfig& c) { c.depth_base = -1000; });
}

TEST(BuildConfig, MaxDepth) {
    BuildConfig config;
    EXPECT_EQ(max_depth(config, 1), 8U);
    EXPECT_EQ(max_depth(config, 1024), 21U);
    EXPECT_EQ(max_depth(config, 1U << 20), 34U);
    EXPECT_EQ(max_depth(config, (1U << 20) - 1), 33U) << "19 levels, 32.7";
    config.depth_base = -3;
    EXPECT_EQ(max_depth(config, 1), 0U) << "never below 0";
    config.depth_base = 1000;
    EXPECT_EQ(max_depth(config, 1), kMaxDepth);
    config.depth_base = 0;
    config.depth_factor = 1e30F;
    EXPECT_EQ(max_depth(config, 1U << 20), kMaxDepth);
    EXPECT_EQ(max_depth(config, 1), 0U);
}

TEST(BuildConfig, MaxBadSplits) {
    EXPECT_EQ(max_bad_splits(BuildConfig{}, 30), 0U);
    BuildConfig config;
    config.bad_splits = 1;
    config.bad_splits_per_level = 0.26F;
    EXPECT_EQ(max_bad_splits(config, 0), 1U);
    EXPECT_EQ(max_bad_splits(config, 21), 6U) << "6.46";
    config.bad_splits = 1e30F;
    EXPECT_GE(max_bad_splits(config, 60), 60U) << "and no overflow";
}

TEST(BuildConfig, PresetsAreValidAndHaveTheirSourcesConstants) {
    for (const auto& [name, config] : presets()) EXPECT_NO_THROW(validate(config)) << name;
    const BuildConfig paper = presets().at("paper");
    EXPECT_EQ(max_depth(paper, 1U << 16), 21U) << "2 + 1.2 * 16 = 21.2";
    EXPECT_EQ(max_bad_splits(paper, 21), 6U);
    EXPECT_EQ(paper.planes, 32U);
    EXPECT_FALSE(paper.clip);
    const BuildConfig pbrt = presets().at("pbrt");
    EXPECT_EQ(max_depth(pbrt, 69451), 29U) << "8 + 1.3 * 16 = 28.8";
    EXPECT_EQ(max_bad_splits(pbrt, 29), 2U) << "the third makes a leaf";
    EXPECT_EQ(pbrt.leaf_limit, 1U);
    EXPECT_EQ(pbrt.intersection_cost, 80);
    EXPECT_EQ(presets().size(), 3U);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
