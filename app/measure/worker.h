/// @file
/// What a worker process of `compare` does, and what is said to it: a JSON object a line, each
/// answered by one.
///
///     {"load": "bunny.obj"}                              -> {"digest": "..."}
///     {"pool_bytes": 1000000, "repeat": 1, "warm_up": 1,
///      "statistics": false, "verify": false}             -> a result, as in the report's JSON
///
/// All else, as device, threads and the tree's configuration, it has from its command line. It
/// keeps the scene and nothing else from one request to the next: pool and arrays are freed before
/// it answers. It ends when the socket is closed.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/backends/backend.h"
#include "app/cli/cli.h"

namespace heapwood::app {

/// A request to build the tree of the scene that was loaded last.
struct BuildRequest {
    std::uint64_t pool_bytes = 0;
    unsigned repeat = 1;
    unsigned warm_up = 0;
    bool statistics = false;
    bool verify = false;
};

nlohmann::ordered_json load_request(const std::string& scene);
nlohmann::ordered_json as_json(const BuildRequest& request);

/// The command line of the worker that builds with `allocator`, made from that of the program.
std::vector<std::string> worker_arguments(std::vector<std::string> arguments,
                                          const std::string& allocator);

/// Serves until the socket on standard input is closed. @throws as the verb itself.
ExitCode serve(const CompareOptions& options, const std::vector<const Backend*>& available);

}  // namespace heapwood::app
