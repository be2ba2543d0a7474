#include <limits>
#include <map>

#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_figures.h"
#include "app/measure/builds/result_json.h"
#include "kdtree/config_fields.h"

namespace heapwood::app {
namespace {

template <class T>
Json names_of(const std::map<std::string, T>& named) {
    Json names = Json::array();
    for (const auto& [name, one] : named) names.push_back(name);
    return names;
}

/// The schema of configuration_json's answer.
Json configuration_schema() {
    Json schema = object_schema();
    const auto add = [&schema](const char* name, Json field, const char* about) {
        field["description"] = about;
        schema["properties"][name] = std::move(field);
        schema["required"].push_back(name);
    };
    Json presets = names_of(kdtree::presets());
    presets.push_back(kPresetOfFile);
    add("preset", one_of(presets),
        "what the configuration began with; file: it is that of a tree file");
    kdtree::BuildConfig config;
    kdtree::for_each_field(config, [&]<class T>(const kdtree::Field& field, const T&) {
        if constexpr (std::is_same_v<T, kdtree::EmptyRule>) {
            add(field.name, one_of(names_of(kdtree::empty_rules())), field.sentence);
        } else if constexpr (std::is_same_v<T, bool>) {
            add(field.name, schema_of<bool>(), field.sentence);
        } else {
            Json number = schema_of<T>();
            constexpr double kMost = std::numeric_limits<float>::max();
            number.erase("minimum");
            if (field.least > -kMost) {
                number[field.open ? "exclusiveMinimum" : "minimum"] =
                    field.or_zero ? 0 : field.least;
            }
            if (field.most < kMost) number["maximum"] = field.most;
            add(field.name, number, field.sentence);
        }
    });
    return schema;
}

/// Whether it has as many cells as it says, of the characters that there are.
bool is_map(const allocators::HeapMap& map) {
    if (map.reach_bytes == 0 || map.cell_bytes == 0) return false;
    const std::uint64_t cells = (map.reach_bytes - 1) / map.cell_bytes + 1;
    if (cells > allocators::kMapCells) return false;
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

Shape<Provenance> origin_shape() {
    using Of = Provenance;
    const auto of_gpu = [](std::string Machine::*text) {
        return [=](const Of& o) {
            return o.machine.gpu ? text_or_none(o.machine.*text) : std::nullopt;
        };
    };
    Shape<Of> shape;
    shape.field("arguments", [](const Of& o) { return o.arguments; }, "", {{"minItems", 1}})
        .field("version", [](const Of&) { return version().version; })
        .field(
            "git", [](const Of&) { return version().git; },
            "short commit, -dirty if files differed")
        .field("build_type", [](const Of&) { return version().build_type; })
        .field("compiler", [](const Of&) { return version().compiler; })
        .field(
            "cuda", [](const Of&) { return text_or_none(version().cuda); },
            "version of the CUDA compiler")
        .field(
            "device", [](const Of& o) { return o.machine.name; }, "name of the processor or GPU")
        .choice("device_kind", kDevices, [](const Of& o) { return o.machine.kind(); })
        .field(
            "device_units", [](const Of& o) { return o.machine.units; },
            "hardware threads or multiprocessors")
        .field("driver", of_gpu(&Machine::driver), "CUDA version of the driver")
        .field("runtime", of_gpu(&Machine::runtime), "CUDA version of the program");
    return shape;
}

Json configuration_json(const Report& report) {
    Json json{{"preset", report.options.preset}};
    kdtree::for_each_field(report.options.config,
                           [&]<class T>(const kdtree::Field& field, const T& value) {
                               if constexpr (std::is_same_v<T, kdtree::EmptyRule>) {
                                   json[field.name] = kdtree::name(value);
                               } else {
                                   json[field.name] = json_value(value);
                               }
                           });
    return json;
}

const Shape<Report>& provenance_shape(bool of_one_scene) {
    const auto make = [](bool one) {
        using Of = Report;
        Shape<Of> shape;
        shape.all_of(origin_shape(), [](const Of& r) { return r.provenance; })
            .without("device_kind");  // each result has its own
        if (one) shape.field("scene_digest", [](const Of& r) { return Digest{r.scene_digest}; });
        shape
            .put("configuration", configuration_schema(), configuration_json,
                 "kdtree/config.h says what each field means")
            .field("repeat", [](const Of& r) { return r.options.run.repeat; })
            .field("warm_up", [](const Of& r) { return r.options.run.warm_up; });
        add_forms(shape,
                  [](const Of& r) -> const allocators::Choices& { return r.options.run.choices; });
        shape
            .choice(
                "host_pool", Json{"on", "off"},
                [](const Of& r) { return keeps_memory(r) ? "on" : "off"; },
                "whether memory outside the pool is kept for the next array or build")
            .field("date", [](const Of& r) { return r.provenance.date; }, "",
                   {{"pattern", kDatePattern}});
        return shape;
    };
    static const Shape<Report> one = make(true);
    static const Shape<Report> many = make(false);
    return of_one_scene ? one : many;
}

Json vector_json(const glm::vec3& v) {
    return Json::array({json_value(v.x), json_value(v.y), json_value(v.z)});
}

Json vector_schema() {
    Json schema = array_schema({{"type", "number"}}, 3);
    schema["maxItems"] = 3;
    return schema;
}

const Shape<Report>& scene_shape() {
    static const Shape<Report> shape = [] {
        using Of = Report;
        Shape<scenes::Bounds> bounds;
        bounds.put("lo", vector_schema(), [](const scenes::Bounds& b) { return vector_json(b.lo); })
            .put("hi", vector_schema(), [](const scenes::Bounds& b) { return vector_json(b.hi); });
        Shape<Of> all;
        all.field("path", [](const Of& r) { return r.scene_path; })
            .field(
                "triangles", [](const Of& r) { return r.triangles; }, "", at_least(1))
            .field("vertices", [](const Of& r) { return r.vertices; })
            .field(
                "degenerate", [](const Of& r) { return r.degenerate; }, "triangles of zero area")
            .object("bounds", bounds, [](const Of& r) { return r.bounds; });
        return all;
    }();
    return shape;
}

const Shape<Report>& scene_facts() {
    static const Shape<Report> shape = [] {
        Shape<Report> all = scene_shape();
        all.field("digest", [](const Report& r) { return Digest{r.scene_digest}; })
            .field(
                "root_bytes", [](const Report& r) { return r.root_bytes; },
                "of the root node's primitive array, the unit of pools", at_least(1));
        return all;
    }();
    return shape;
}

Json trace_origin(const Report& report, const Result& result) {
    return {{"root_bytes", report.root_bytes},
            {"allocator", result.allocator.name},
            {"pool_bytes", result.built.pool_bytes},
            {"scene", scene_shape().json(report)},
            {"provenance", provenance_shape().json(report)}};
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
    Result r = result_of(backend);
    read(build_figures(), json, r);
    if (r.outcome == Outcome::done && (r.built.milliseconds.empty() || !r.tree)) {
        throw std::invalid_argument("a finished build without a time or a tree");
    }
    if (r.built.heap_map && !is_map(*r.built.heap_map)) throw std::invalid_argument("no heap map");
    return r;
}

std::string json_text(const Json& json) {
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace heapwood::app
