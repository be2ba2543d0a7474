#include "app/measure/input.h"

#include "app/base/text.h"
#include "app/measure/result_json.h"

namespace heapwood::app {
namespace {

glm::vec3 read_vector(const Json& json) {
    return {json.at(0).get<float>(), json.at(1).get<float>(), json.at(2).get<float>()};
}

}  // namespace

Json scene_facts(const Report& report) {
    Json scene = scene_json(report);
    scene["digest"] = hex(report.scene_digest);
    scene["root_bytes"] = report.root_bytes;
    return scene;
}

void read_scene_facts(const Json& facts, Report& report) {
    facts.at("path").get_to(report.scene_path);
    facts.at("triangles").get_to(report.triangles);
    facts.at("vertices").get_to(report.vertices);
    facts.at("degenerate").get_to(report.degenerate);
    report.bounds.lo = read_vector(facts.at("bounds").at("lo"));
    report.bounds.hi = read_vector(facts.at("bounds").at("hi"));
    report.scene_digest = read_hex(facts.at("digest").get<std::string>());
    facts.at("root_bytes").get_to(report.root_bytes);
}

Json trace_facts(const ReplayReport& report) {
    const allocators::TraceFacts& f = report.facts;
    return {{"path", report.path},
            {"callers", report.callers},
            {"requests", f.requests},
            {"frees", f.frees},
            {"bytes", f.bytes},
            {"largest_bytes", f.largest},
            {"peak_bytes", f.peak_bytes},
            {"root_bytes", report.root_bytes},
            {"recorded_ns", f.nanoseconds ? Json(*f.nanoseconds) : Json()},
            {"header", Json::parse(report.header)}};
}

void read_trace_facts(const Json& facts, ReplayReport& report) {
    allocators::TraceFacts& f = report.facts;
    facts.at("path").get_to(report.path);
    facts.at("callers").get_to(report.callers);
    facts.at("requests").get_to(f.requests);
    facts.at("frees").get_to(f.frees);
    facts.at("bytes").get_to(f.bytes);
    facts.at("largest_bytes").get_to(f.largest);
    facts.at("peak_bytes").get_to(f.peak_bytes);
    facts.at("root_bytes").get_to(report.root_bytes);
    const Json recorded = facts.at("recorded_ns");
    if (!recorded.is_null()) f.nanoseconds = recorded.get<std::uint64_t>();
    report.header = dumped(facts.at("header"));
}

}  // namespace heapwood::app
