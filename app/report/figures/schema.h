/// @file
/// JSON Schema of the values that documents hold, made from their types in C++.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/base/text.h"

namespace heapwood::app {

using Json = nlohmann::ordered_json;

/// A number of 64 bits that JSON has as text of 16 hexadecimal digits.
struct Digest {
    std::uint64_t value = 0;
};

/// The schema of an object, still without fields.
Json object_schema();

/// The schema of the object at a path of names, "/build/ms", in that of an object. It is made if it
/// is not there.
Json& object_at(Json& schema, const std::string& path);

/// An array of such items. @param least the number of items that it has at least
Json array_schema(Json items, unsigned least = 0);

/// More of a number's schema: its least value.
inline Json at_least(unsigned least) {
    return {{"minimum", least}};
}

/// What takes null, too.
Json nullable(Json schema);

/// One of these values.
template <class Values>
Json one_of(const Values& values) {
    return {{"enum", values}};
}

namespace schema_detail {
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
}  // namespace schema_detail

/// The schema of a type's values. Numbers of documents are counts, sizes, times and ratios: none is
/// below zero.
template <class T>
Json schema_of() {
    if constexpr (schema_detail::IsOptional<T>::value) {
        return nullable(schema_of<typename T::value_type>());
    } else if constexpr (schema_detail::IsVector<T>::value) {
        return array_schema(schema_of<typename T::value_type>());
    } else if constexpr (std::same_as<T, bool>) {
        return {{"type", "boolean"}};
    } else if constexpr (std::integral<T>) {
        return {{"type", "integer"}, {"minimum", 0}};
    } else if constexpr (std::floating_point<T>) {
        return {{"type", "number"}, {"minimum", 0}};
    } else if constexpr (std::same_as<T, Digest>) {
        return {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}};
    } else {
        static_assert(std::convertible_to<T, std::string_view>, "a type without a schema");
        return {{"type", "string"}};
    }
}

/// A value as documents have it: null for nothing, and for infinity and NaN; a float has the digits
/// that it was given with.
template <class T>
Json json_value(const T& value) {
    if constexpr (schema_detail::IsOptional<T>::value) {
        return value ? json_value(*value) : Json();
    } else if constexpr (schema_detail::IsVector<T>::value) {
        Json all = Json::array();
        for (const auto& one : value) all.push_back(json_value(one));
        return all;
    } else if constexpr (std::same_as<T, float>) {
        return std::isfinite(value) ? Json(neat(value)) : Json();
    } else {
        return Json(value);
    }
}
Json json_value(const Digest& digest);

/// Why a value that was read is not of this schema, by its type, range and choices; empty: it is.
std::string misfit(const Json& value, const Json& schema);

}  // namespace heapwood::app
