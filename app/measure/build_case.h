/// @file
/// A turn that builds a tree.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace heapwood::app {

/// How the scene that a worker has loaded is built.
struct BuildCase {
    std::uint64_t pool_bytes = 0;
    unsigned repeat = 1;
    unsigned warm_up = 0;
    bool statistics = false;
    bool verify = false;
};

inline nlohmann::ordered_json case_json(const BuildCase& build) {
    return {{"pool_bytes", build.pool_bytes},
            {"repeat", build.repeat},
            {"warm_up", build.warm_up},
            {"statistics", build.statistics},
            {"verify", build.verify}};
}

/// Reads the output of case_json(). @throws nlohmann::json::exception for anything else.
inline BuildCase read_case(const nlohmann::ordered_json& json) {
    return {.pool_bytes = json.at("pool_bytes"),
            .repeat = json.at("repeat"),
            .warm_up = json.at("warm_up"),
            .statistics = json.at("statistics"),
            .verify = json.at("verify")};
}

}  // namespace heapwood::app
