/// @file
/// How values on the command line are checked: numbers more strictly than CLI11 does.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "app/base/text.h"

namespace heapwood::app {

/// A whole number written in digits alone. CLI11's own conversion takes -1 for a huge number and
/// 010 for eight.
CLI::Validator whole(std::uint64_t least, std::uint64_t most);

/// The items of lists with commas between them. @throws CLI::ValidationError for an empty item.
std::vector<std::string> items(const std::string& option, const std::vector<std::string>& lists);

/// A finite number from `least`, or above it if `open`, up to `most`.
CLI::Validator real(float least, float most, bool open);

inline constexpr float kAnyReal = std::numeric_limits<float>::max();
inline constexpr std::uint64_t kAny32 = std::numeric_limits<std::uint32_t>::max();

/// What `text` names in a map. @throws CLI::ValidationError.
template <class T>
T named(const std::map<std::string, T>& map, const std::string& option, const std::string& text) {
    const auto found = map.find(text);
    if (found != map.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, value] : map) names.push_back(name);
    throw CLI::ValidationError(option, "'" + text + "' is none of " + joined(names, ", "));
}

}  // namespace heapwood::app
