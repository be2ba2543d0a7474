/// @file
/// JSON that may come from anywhere, and plain structs as JSON objects whose keys are the names of
/// the members.
#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heapwood::app {

using Json = nlohmann::ordered_json;

/// What the text is; discarded if it is no JSON, or is nested so deeply that to copy, compare or
/// write it, which the library does by recursion, could exceed the stack.
inline Json parsed_json(std::string_view text) {
    constexpr int kDeepest = 100;
    bool deep = false;
    const auto keep = [&deep](int depth, Json::parse_event_t, const Json&) {
        deep = deep || depth > kDeepest;
        return depth <= kDeepest;
    };
    Json json = Json::parse(text, keep, false);
    return deep ? Json(Json::value_t::discarded) : json;
}

/// The JSON as text on one line. Strings may have any bytes, as names of files and messages of
/// systems have: what is not UTF-8 is written as U+FFFD.
inline std::string dumped(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A whole number, which `T` has room for. The library's own conversion takes 1e30 and 0.5, too.
/// @throws std::invalid_argument if it is none.
template <std::unsigned_integral T>
T whole_number(const Json& json) {
    const bool fits = json.is_number_unsigned()
                          ? std::in_range<T>(json.get<std::uint64_t>())
                          : json.is_number_integer() && std::in_range<T>(json.get<std::int64_t>());
    if (!fits) throw std::invalid_argument("a number of " + dumped(json));
    return json.get<T>();
}

}  // namespace heapwood::app

#define HEAPWOOD_PUT_MEMBER(member) json[#member] = value.member;
#define HEAPWOOD_GET_MEMBER(member) json.at(#member).get_to(value.member);

/// To stand in the namespace of a struct, with all members that are in its JSON. Then any
/// nlohmann::basic_json takes the struct (`json = value`) and gives it back (`json.get<Type>()`),
/// or throws nlohmann::json::exception if a key lacks or has a value of another type.
#define HEAPWOOD_JSON_OF(Type, ...)                                                 \
    template <class AnyJson>                                                        \
    void to_json(AnyJson& json, const Type& value) {                                \
        NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(HEAPWOOD_PUT_MEMBER, __VA_ARGS__)) \
    }                                                                               \
    template <class AnyJson>                                                        \
    void from_json(const AnyJson& json, Type& value) {                              \
        NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(HEAPWOOD_GET_MEMBER, __VA_ARGS__)) \
    }
