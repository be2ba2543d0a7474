#include "app/inputs/input.h"

#include "app/base/text.h"
#include "app/measure/builds/result_json.h"

namespace heapwood::app {
Json scene_facts(const Report& report) {
    Json scene = scene_json(report);
    scene["digest"] = hex(report.scene_digest);
    scene["root_bytes"] = report.root_bytes;
    return scene;
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

}  // namespace heapwood::app
