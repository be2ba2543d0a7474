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
    expect_refused([](BuildConfig& c) { c.exact_limit = 65; }, "exact limit");
    expect_refused([](BuildConfig& c) { c.exact_limit = ~0U; }, "exact limit");
    expect_refused([](BuildConfig& c) { c.chunk = 31; }, "chunk");
    expect_refused([](BuildConfig& c) { c.chunk = 1; }, "chunk");
    expect_refused([](BuildConfig& c) { c.large_limit = 63; }, "large limit");
    expect_refused([](BuildConfig& c) { c.large_limit = 1; }, "large limit");
}

TEST(BuildConfig, ExtremeValuesAreAccepted) {
    expect_accepted([](BuildConfig& c) { c.traversal_cost = 0; });
    expect_accepted([](BuildConfig& c) { c.traversal_cost = 1e30F; });
    expect_accepted([](BuildConfig& c) { c.intersection_cost = 1e-30F; });
    expect_accepted([](BuildConfig& c) { c.empty_bonus = 1; });
    expect_accepted([](BuildConfig& c) { c.exact_limit = 0; });
    expect_accepted([](BuildConfig& c) { c.exact_limit = 64; });
    expect_accepted([](BuildConfig& c) { c.large_limit = 64; });
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
    config.depth_base = -3;
    EXPECT_EQ(max_depth(config, 1), 0U) << "never below 0";
    config.depth_base = 1000;
    EXPECT_EQ(max_depth(config, 1), kMaxDepth);
    config.depth_base = 0;
    config.depth_factor = 1e30F;
    EXPECT_EQ(max_depth(config, 1U << 20), kMaxDepth);
    EXPECT_EQ(max_depth(config, 1), 0U);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
