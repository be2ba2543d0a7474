#include <nlohmann/json.hpp>

#include "app/base/text.h"
#include "app/report/comparison_printers.h"
#include "app/report/json_parts.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// The version of app/report/schemas/compare.schema.json; a reader may rely on it.
constexpr int kSchema = 1;

Json provenance(const Comparison& comparison) {
    Json json = provenance_json(comparison.common);
    json.erase("scene_digest");  // each scene has its own
    json["threads"] = comparison.common.run.threads;
    json["time_limit_s"] = comparison.time_limit;
    return json;
}

Json allocators(const Comparison& comparison) {
    Json all = Json::array();
    for (const Result& r : comparison.groups.front().report.results) {
        all.push_back({{"name", r.allocator.name},
                       {"title", r.allocator.title},
                       {"source", r.allocator.source},
                       {"full", r.allocator.full},
                       {"method", name(r.method)}});
    }
    return all;
}

Json scenes(const Comparison& comparison) {
    Json all = Json::array();
    for (const Report& report : comparison.scenes) {
        Json scene = scene_json(report);
        scene["digest"] = hex(report.scene_digest);
        scene["root_bytes"] = report.root_bytes;
        all.push_back(scene);
    }
    return all;
}

Json cells(const Comparison& comparison) {
    Json all = Json::array();
    for (const Group& group : comparison.groups) {
        const std::optional<std::size_t> fastest = fastest_full(group);
        for (std::size_t i = 0; i < group.report.results.size(); ++i) {
            Json cell{{"scene", group.report.scene_path}, {"pool", group.pool}};
            cell.update(result_json(group.report, group.report.results[i]));
            cell["fastest_full"] = fastest == i;
            cell["baseline_pool"] =
                group.baseline_pool.empty() ? Json() : Json(group.baseline_pool);
            all.push_back(cell);
        }
    }
    return all;
}

}  // namespace

std::string as_json(const Comparison& comparison) {
    return document({{"schema", kSchema},
                     {"kind", "compare"},
                     {"complete", complete(comparison)},
                     {"provenance", provenance(comparison)},
                     {"pools", comparison.pools},
                     {"allocators", allocators(comparison)},
                     {"scenes", scenes(comparison)},
                     {"cells", cells(comparison)}});
}

}  // namespace heapwood::app
