/// @file
/// Plain structs as JSON objects whose keys are the names of the members.
#pragma once

#include <nlohmann/json.hpp>

namespace heapwood::app {

using Json = nlohmann::ordered_json;

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
