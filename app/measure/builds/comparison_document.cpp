#include <set>

#include "app/base/text.h"
#include "app/inputs/input.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/comparison_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/compare.schema.json; a reader may rely on it.
constexpr int kComparisonSchema = 1;

/// Why cells have no figures, and what marks mean.
std::vector<Remark> remarks(const Comparison& comparison) {
    std::vector<Remark> all;
    std::set<std::string> marks;
    if (comparison.common.run.statistics) {
        marks.insert(
            "N_alloc to peak live: of the first full allocator that is done; others may "
            "ask for the arrays of both children at once.");
    }
    const std::vector<std::string> names = scene_names(comparison);
    for (const Group& group : comparison.groups) {
        for (const Result& r : group.report.results) {
            if (!r.message.empty()) {
                all.push_back({names[group.scene] + ", pool " + group.pool + ", " +
                               r.allocator.name + ": " + r.message});
            }
            if (!r.allocator.full) marks.insert(kAsteriskRemark);
            if (r.outcome == Outcome::done && !deviation_text(r.samples).empty()) {
                marks.insert(kDeviationRemark);
            }
            if (group.baseline_pool != group.pool && slowdown(group.report, r)) {
                marks.insert(
                    "': over atomicmalloc with another pool of the same run, for with this "
                    "one it failed.");
            }
        }
        if (fastest_full(group)) {
            marks.insert("Brackets or bold: of full allocators, the scene's least median.");
        }
    }
    if (!complete(comparison)) {
        all.push_back(
            {"THE COMPARISON IS NOT COMPLETE: unfinished cells had not all their turns.", true});
    }
    for (const std::string& mark : marks) all.push_back({mark});
    return all;
}

Json provenance(const Comparison& comparison) {
    Json json = provenance_json(comparison.common);
    json.erase("scene_digest");  // each scene has its own
    json["threads"] = comparison.common.run.threads;
    json["time_limit_s"] = comparison.time_limit;
    return json;
}

Json allocators_json(const Comparison& comparison) {
    return array_of(comparison.groups.front().report.results, [](const Result& r) -> Json {
        return {{"name", r.allocator.name},
                {"title", r.allocator.title},
                {"source", r.allocator.source},
                {"full", r.allocator.full},
                {"method", name(r.method)}};
    });
}

/// Adds a cell to what JSON and what CSV have of the groups.
void add_cell(const Group& group, std::size_t number, Json& cells, Table& records) {
    const Result& result = group.report.results[number];
    const bool fastest = fastest_full(group) == number;
    const Json baseline = or_null(group.baseline_pool);
    Json cell{{"scene", group.report.scene_path}, {"pool", group.pool}};
    cell.update(result_json(group.report, result));
    cell["fastest_full"] = fastest;
    cell["baseline_pool"] = baseline;
    cells.push_back(cell);
    Record record = build_record(group.report, result);
    record.insert(record.begin() + 1, {"pool", group.pool});
    record.emplace_back("fastest_full", fastest);
    record.emplace_back("baseline_pool", baseline);
    add_record(records, record);
}

}  // namespace

Document document_of(const Comparison& comparison) {
    Document document{.title = "heapwood compare",
                      .tables = comparison_tables(comparison),
                      .plots = comparison_plots(comparison),
                      .remarks = remarks(comparison)};
    add_choices(comparison, document);
    for (const Group& group : comparison.groups) {
        add_heap_maps(group.report, scene_names(comparison)[group.scene] + ", pool " + group.pool,
                      document);
    }
    if (comparison.published) add_published(comparison, document);
    Json cells = Json::array();
    for (const Group& group : comparison.groups) {
        for (std::size_t i = 0; i < group.report.results.size(); ++i) {
            add_cell(group, i, cells, document.records);
        }
    }
    document.data = {{"schema", kComparisonSchema},
                     {"kind", "compare"},
                     {"complete", complete(comparison)},
                     {"provenance", provenance(comparison)},
                     {"pools", comparison.pools},
                     {"allocators", allocators_json(comparison)},
                     {"scenes", array_of(comparison.scenes, scene_facts)},
                     {"cells", cells}};
    return document;
}

}  // namespace heapwood::app
