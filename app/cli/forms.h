/// @file
/// The forms of allocators that have several, by the names that the command line and JSON have for
/// them.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "allocators/allocator.cuh"

namespace heapwood::app {

/// The ways to cut a pool beforehand, by their names on the command line.
const std::map<std::string, allocators::Presplit>& presplits();

/// Where Halloc and XMalloc get what is too large for them, by its names on the command line.
const std::map<std::string, allocators::Fallback>& fallbacks();

/// The name of a value in one of these maps, which has it.
template <class T>
std::string name_of(const std::map<std::string, T>& all, T value) {
    for (const auto& [name, entry] : all) {
        if (entry == value) return name;
    }
    return "";
}

/// All forms, by the names of their options.
nlohmann::ordered_json forms_json(const allocators::Forms& forms);

/// What forms_json has written. @throws nlohmann::json::exception, std::out_of_range.
allocators::Forms read_forms(const nlohmann::ordered_json& json);

}  // namespace heapwood::app
