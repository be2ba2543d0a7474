/// @file
/// The parts of a report in JSON, which several documents are made of, and a result read back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/backends/backend.h"
#include "app/base/machine.h"
#include "app/measure/builds/report.h"
#include "app/render/camera.h"

namespace heapwood::app {

/// Where figures of any verb come from: arguments, program, machine.
nlohmann::ordered_json origin_json(const std::vector<std::string>& arguments,
                                   const Machine& machine);

/// Where the figures come from: program, machine, configuration.
nlohmann::ordered_json provenance_json(const Report& report);

/// The parameters of the tree.
nlohmann::ordered_json configuration_json(const Report& report);

/// A point or direction, each number by its shortest decimal.
nlohmann::ordered_json vector_json(const glm::vec3& v);

/// Where primary rays come from.
nlohmann::ordered_json camera_json(const Camera& camera);

/// The scene: path, counts, bounds.
nlohmann::ordered_json scene_json(const Report& report);

/// All figures of one build.
nlohmann::ordered_json result_json(const Report& report, const Result& result);

/// What result_json has written of a build with that backend; not what the backend and the compiler
/// know without it (the allocator's traits, registers of its kernels), and no profile.
/// @throws nlohmann::json::exception, std::invalid_argument if it is no such thing.
Result read_result(const nlohmann::ordered_json& json, const Backend& backend);

/// JSON as text, in ASCII, as a terminal may show it. A path need not be UTF-8; JSON must: what is
/// not is written as U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace heapwood::app
