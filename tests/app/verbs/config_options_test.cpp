/// @file
/// The range of every parameter of the tree: the command line's is that of the list of fields.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "app/base/text.h"
#include "app/cli/cli.h"
#include "kdtree/config_fields.h"

namespace heapwood::app {
namespace {

/// The words `heapwood build gen:sphere:100 --leaf-limit=5`, read.
CommandLine read_option(const std::string& field, const std::string& value) {
    std::string option = "--" + field + "=" + value;
    for (char& c : option) c = c == '_' ? '-' : c;
    const std::array words{"heapwood", "build", "gen:sphere:100", option.c_str()};
    return parse(static_cast<int>(words.size()), words.data());
}

/// Numbers at the ends of a range, on both sides of each.
template <class T>
std::vector<T> edges(const kdtree::Field& field) {
    std::vector<T> all{0, 1};
    if constexpr (std::is_floating_point_v<T>) {
        constexpr T kInfinity = std::numeric_limits<T>::infinity();
        for (const double end : {field.least, field.most}) {
            const T x = static_cast<T>(end);
            all.insert(all.end(), {x, std::nextafter(x, -kInfinity), std::nextafter(x, kInfinity)});
        }
        all.push_back(-1);
        std::erase_if(all, [](T x) { return !std::isfinite(x); });
    } else {
        const T least = static_cast<T>(field.least);
        const T most = static_cast<T>(field.most);
        all.insert(all.end(), {least, most});
        if (least > 0) all.push_back(least - 1);
        if (most < std::numeric_limits<T>::max()) all.push_back(most + 1);
    }
    return all;
}

TEST(ConfigOptions, HaveTheRangesOfTheFields) {
    unsigned allowed = 0, refused = 0;
    kdtree::BuildConfig config;
    kdtree::for_each_field(config, [&]<class T>(const kdtree::Field& field, T&) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            for (const T value : edges<T>(field)) {
                std::string text = std::to_string(value);
                if constexpr (std::is_floating_point_v<T>) text = shortest(value);
                const CommandLine line = read_option(field.name, text);
                const auto* options = std::get_if<BuildOptions>(&line.verb);
                const bool allows = field.allows(static_cast<double>(value));
                ASSERT_EQ(options != nullptr, allows) << field.name << "=" << text;
                ++(allows ? allowed : refused);
                if (!allows) continue;
                kdtree::for_each_field(options->measure.config,
                                       [&]<class U>(const kdtree::Field& other, const U& found) {
                                           if constexpr (std::is_same_v<U, T>) {
                                               if (other.name == std::string(field.name)) {
                                                   EXPECT_EQ(found, value) << field.name;
                                               }
                                           }
                                       });
            }
        }
    });
    EXPECT_GT(allowed, 50U);
    EXPECT_GT(refused, 20U);
}

/// Fields that the tree does not depend on say how one process builds it.
TEST(ConfigOptions, OfWholeBuildsAreNamedWhereABuildIsInParts) {
    unsigned whole = 0;
    kdtree::BuildConfig config;
    kdtree::for_each_field(config, [&]<class T>(const kdtree::Field& field, T&) {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            const CommandLine line = read_option(field.name, "64");
            const auto* options = std::get_if<BuildOptions>(&line.verb);
            ASSERT_NE(options, nullptr) << field.name;
            EXPECT_EQ(options->whole_options.size(), field.shapes_tree ? 0U : 1U) << field.name;
            whole += field.shapes_tree ? 0 : 1;
        }
    });
    EXPECT_GT(whole, 3U);
}

TEST(Options, OfAllocatorsAndOfWholeBuildsAreListedByWhatGaveThem) {
    const std::array words{"heapwood", "build",    "gen:sphere:100",
                           "-p",       "20x",      "--clip",
                           "-a",       "cambium",  "-m",
                           "single",   "--verify", "--minimal-pool",
                           "--repeat", "2"};
    const CommandLine line = parse(static_cast<int>(words.size()), words.data());
    const auto* options = std::get_if<BuildOptions>(&line.verb);
    ASSERT_NE(options, nullptr);
    const std::vector<std::string> allocators{"--pool", "--allocator", "--minimal-pool"};
    EXPECT_EQ(options->allocator_options, allocators);
    std::vector<std::string> all = allocators;
    all.insert(all.end(), {"--method", "--repeat"});
    EXPECT_EQ(options->whole_options, all);
}

}  // namespace
}  // namespace heapwood::app
