#include <charconv>
#include <nlohmann/json.hpp>

#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_figures.h"
#include "app/measure/builds/result_json.h"
#include "kdtree/config_fields.h"

namespace heapwood::app {
namespace {

/// The double nearest to the float's shortest decimal, so that 0.8F is written as 0.8.
double neat(float value) {
    const std::string decimal = shortest(value);
    double result = 0;
    std::from_chars(decimal.data(), decimal.data() + decimal.size(), result);
    return result;
}

/// A figure, or null where it is unknown.
Json known(bool is_known, const Json& value) {
    return is_known ? value : Json();
}

/// Whether it has as many cells as it says, of the characters that there are.
bool is_map(const allocators::HeapMap& map) {
    if (map.reach_bytes == 0 || map.cell_bytes == 0) return false;
    const std::uint64_t cells = (map.reach_bytes - 1) / map.cell_bytes + 1;
    const std::string letters =
        std::string(allocators::kBlockSizes) + allocators::kFreeCell + allocators::kOtherCell;
    for (const allocators::HeapCells* one : {&map.peak, &map.end}) {
        if (one->blocks.size() != cells || one->fill.size() != cells ||
            one->blocks.find_first_not_of(letters) != std::string::npos ||
            one->fill.find_first_not_of("0123456789") != std::string::npos) {
            return false;
        }
    }
    return true;
}

}  // namespace

Json origin_json(const std::vector<std::string>& arguments, const Machine& m) {
    const Version& v = version();
    return {{"arguments", arguments},
            {"version", v.version},
            {"git", v.git},
            {"build_type", v.build_type},
            {"compiler", v.compiler},
            {"cuda", known(*v.cuda != '\0', v.cuda)},
            {"device", m.name},
            {"device_kind", m.gpu ? "gpu" : "cpu"},
            {"device_units", m.units},
            {"driver", known(m.gpu, m.driver)},
            {"runtime", known(m.gpu, m.runtime)}};
}

Json configuration_json(const Report& report) {
    Json json{{"preset", report.preset}};
    kdtree::for_each_field(report.configuration,
                           [&]<class T>(const kdtree::Field& field, const T& value) {
                               if constexpr (std::is_same_v<T, kdtree::EmptyRule>) {
                                   json[field.name] = kdtree::name(value);
                               } else if constexpr (std::is_floating_point_v<T>) {
                                   json[field.name] = neat(value);
                               } else {
                                   json[field.name] = value;
                               }
                           });
    return json;
}

Json provenance_json(const Report& report) {
    Json json = origin_json(report.arguments, report.machine);
    json.erase("device_kind");  // each result has its own
    json.update({{"scene_digest", hex(report.scene_digest)},
                 {"configuration", configuration_json(report)},
                 {"repeat", report.run.repeat},
                 {"warm_up", report.run.warm_up},
                 {"forms", choices_json(report.run.choices)},
                 {"host_pool", keeps_memory(report) ? "on" : "off"},
                 {"date", report.date}});
    return json;
}

Json vector_json(const glm::vec3& v) {
    return Json::array({neat(v.x), neat(v.y), neat(v.z)});
}

Json camera_json(const Camera& camera) {
    return {{"eye", vector_json(camera.eye)},
            {"target", vector_json(camera.target)},
            {"up", vector_json(camera.up)},
            {"field_of_view", camera.field_of_view}};
}

Json scene_json(const Report& report) {
    return {
        {"path", report.scene_path},
        {"triangles", report.triangles},
        {"vertices", report.vertices},
        {"degenerate", report.degenerate},
        {"bounds", {{"lo", vector_json(report.bounds.lo)}, {"hi", vector_json(report.bounds.hi)}}}};
}

Json result_json(const Report& report, const Result& result) {
    return json_of(build_figures(), {report, result});
}

Result read_result(const Json& json, const Backend& backend) {
    const Json& build = json.at("build");
    if (build.at("allocator") != backend.traits.name ||
        build.at("method") != name(backend.method)) {
        throw std::invalid_argument("the result of another allocator");
    }
    Result r;
    r.method = backend.method;
    r.allocator = backend.traits;
    read(build_figures(), json, r);
    if (r.outcome == Outcome::done && (r.samples.empty() || !r.tree)) {
        throw std::invalid_argument("a finished build without a time or a tree");
    }
    if (r.heap_map && !is_map(*r.heap_map)) throw std::invalid_argument("no heap map");
    return r;
}

Json spread_json(const std::vector<double>& samples) {
    if (samples.empty()) return {};
    const Spread s = spread(samples);
    return {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"samples", samples}};
}

std::string json_text(const Json& json) {
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace heapwood::app
