/// @file
/// What the documents of all verbs have in common in JSON, and a result read back.
#pragma once

#include <string>
#include <vector>

#include "app/backends/allocator_options.h"
#include "app/backends/backend.h"
#include "app/measure/builds/report.h"
#include "app/report/figures/shape.h"

namespace heapwood::app {

/// Where figures of any verb come from: arguments, program, machine. Verbs add the date.
Shape<Provenance> origin_shape();

/// The allocators' options that a run had.
template <class Of, class Get>
void add_forms(Shape<Of>& shape, Get choices) {
    shape.put(
        "forms", forms_schema(), [choices](const Of& of) { return choices_json(choices(of)); },
        "the values of the options of the allocators in the program");
}

/// The pattern of dates: UTC, ISO 8601.
inline constexpr const char* kDatePattern = "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$";

/// Where the figures of a build come from: program, machine, configuration.
/// @param of_one_scene the digest of the scene is among them
const Shape<Report>& provenance_shape(bool of_one_scene = true);

/// The parameters of the tree.
Json configuration_json(const Report& report);

/// A point or direction, each number by its shortest decimal.
Json vector_json(const glm::vec3& v);
Json vector_schema();

/// The scene: path, counts, bounds.
const Shape<Report>& scene_shape();

/// The same, and what plans need: the digest, and the unit of pools.
const Shape<Report>& scene_facts();

/// What the header of a trace says of the build whose calls it has.
Json trace_origin(const Report& report, const Result& result);

/// All figures of one build.
Json result_json(const Report& report, const Result& result);

/// What result_json has written of a build with that backend; not what the backend and the compiler
/// know without it (the allocator's traits, registers of its kernels), and no profile.
/// @throws nlohmann::json::exception, std::invalid_argument if it is no such thing.
Result read_result(const Json& json, const Backend& backend);

/// JSON as text, in ASCII, as a terminal may show it. A path need not be UTF-8; JSON must: what is
/// not is written as U+FFFD.
std::string json_text(const Json& json);

}  // namespace heapwood::app
