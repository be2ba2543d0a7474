/// @file
/// What BuildConfig's fields may be, and how deep trees may get.
#include "kdtree/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kdtree/config_fields.h"

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

/// The next number above.
template <class T>
T after(T value) {
    if constexpr (std::is_floating_point_v<T>) return std::nextafter(value, kInfinity);
    return static_cast<T>(value + 1);
}

/// Calls visit<T>(field, set) for each numeric field; set(config, value) sets that field.
template <class Visit>
void for_each_number(const Visit& visit) {
    BuildConfig all;
    for_each_field(all, [&]<class T>(const Field& field, T&) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            visit.template operator()<T>(field, [name = field.name](BuildConfig& config, T value) {
                for_each_field(config, [&]<class U>(const Field& other, U& member) {
                    if constexpr (std::is_same_v<T, U>) {
                        if (std::string(other.name) == name) member = value;
                    }
                });
            });
        }
    });
}

TEST(BuildConfig, FieldsHaveNamesAndSentences) {
    std::set<std::string> names;
    const BuildConfig config;
    for_each_field(config, [&](const Field& field, const auto&) {
        EXPECT_TRUE(names.insert(field.name).second) << field.name << " is there twice";
        EXPECT_NE(std::string(field.sentence), "") << field.name;
    });
    EXPECT_EQ(names.size(), 23U);
}

TEST(BuildConfig, BothEndsOfEachRangeAreAccepted) {
    for_each_number([]<class T>(const Field& field, const auto& set) {
        const T least = static_cast<T>(field.least);
        const T first = !field.open ? least : after(least);
        for (const T value : {first, static_cast<T>(field.most)}) {
            expect_accepted([&](BuildConfig& config) {
                config.large_limit = config.exact_limit = 0;
                set(config, value);
            });
        }
        if (field.or_zero) expect_accepted([&](BuildConfig& config) { set(config, T{0}); });
    });
}

TEST(BuildConfig, WhatIsBeyondARangeIsRefusedByName) {
    for_each_number([]<class T>(const Field& field, const auto& set) {
        const auto refuse = [&](T value) {
            expect_refused([&](BuildConfig& config) { set(config, value); }, field.name);
        };
        if constexpr (std::is_floating_point_v<T>) {
            for (const T bad : {kInfinity, -kInfinity, kNan}) refuse(bad);
            if (field.least >= 0) {
                for (const T bad : {T{-1}, T{-1e-30F}}) refuse(bad);
            }
            if (field.open) refuse(static_cast<T>(field.least));
            if (field.most < std::numeric_limits<T>::max()) {
                refuse(after(static_cast<T>(field.most)));
            }
        } else {
            if (field.least > 0) refuse(static_cast<T>(field.least - 1));
            if (field.most < static_cast<double>(std::numeric_limits<T>::max())) {
                refuse(static_cast<T>(field.most + 1));
            }
        }
    });
}

TEST(BuildConfig, TheLargeLimitIsNotBelowTheExactLimit) {
    expect_refused([](BuildConfig& c) { c.large_limit = c.exact_limit - 1; }, "large_limit");
    expect_refused([](BuildConfig& c) { c.large_limit = 1; }, "large_limit");
    expect_accepted([](BuildConfig& c) { c.large_limit = c.exact_limit; });
    expect_accepted([](BuildConfig& c) { c.large_limit = 0; });
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
