#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/rays/ray_report.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/trace.schema.json; a reader may rely on it.
constexpr int kRaySchema = 1;

/// The numbers of rays that a time is told for.
constexpr double kRays[] = {1e6, 1e7, 1e8, 1e9};

std::string title(const TracedTree& tree) {
    return starred(tree.name, tree.build.allocator.full || tree.preset.empty()) +
           (tree.preset.empty() ? "" : ", " + tree.preset);
}

/// "shadow (any)"; of all hits of random rays "random (all)".
std::string title(const RayTimes& times) {
    return times.asked == Asked::closest ? times.kind : times.kind + " (" + name(times.asked) + ")";
}

/// What other trees' times are compared with: the first that has any.
const TracedTree* first_traced(const RayReport& report) {
    for (const TracedTree& tree : report.trees) {
        if (!tree.times.empty()) return &tree;
    }
    return nullptr;
}

Table summary(const RayReport& report) {
    const Report& origin = report.origin;
    return facts_table(
        "", {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
             {"device", origin.machine.text()},
             {"rays", grouped(report.rays) + " of each kind, seed " + std::to_string(report.seed) +
                          (report.fast ? ", the fast triangle test" : "") +
                          (report.devices.empty()
                               ? ""
                               : ", shared by " + grouped(report.devices.size()) + " GPUs")}});
}

Table rates(const RayReport& report) {
    Table table{.title = "Millions of rays a second", .columns = {{"tree"}}};
    const TracedTree* first = first_traced(report);
    if (first != nullptr) {
        for (const RayTimes& t : first->times) table.columns.push_back({title(t), true});
    }
    for (const TracedTree& tree : report.trees) {
        auto& row = table.rows.emplace_back();
        row.push_back(title(tree));
        for (const RayTimes& t : tree.times)
            row.push_back(t.rays == 0 ? Cell(kNoValue) : shown(t.rays_per_second(), Unit::rate));
        const bool done = tree.build.outcome == Outcome::done;
        row.resize(table.columns.size(),
                   done ? kNoValue : failed_cell(tree.build.outcome, tree.build.message));
    }
    return table;
}

/// Of each GPU that shares the rays.
Table rates_of_devices(const RayReport& report) {
    Table table{.title = "Millions of rays a second of each GPU",
                .columns = {{"tree"}, {"GPU", true}}};
    const TracedTree* first = first_traced(report);
    if (first == nullptr) return table;
    for (const RayTimes& t : first->times) table.columns.push_back({title(t), true});
    for (const TracedTree& tree : report.trees) {
        if (tree.times.empty()) continue;
        for (std::size_t i = 0; i < tree.times.front().devices.size(); ++i) {
            auto& row = table.rows.emplace_back();
            row.push_back(title(tree));
            row.push_back(shown(tree.times.front().devices[i].device, Unit::count));
            for (const RayTimes& t : tree.times) {
                row.push_back(t.rays == 0 ? Cell(kNoValue)
                                          : shown(t.devices[i].rays_per_second(), Unit::rate));
            }
        }
    }
    return table;
}

std::string millions(double rays) {
    return fixed(rays / 1e6, 2) + " M";
}

std::string payoff_text(const std::optional<Payoff>& payoff) {
    if (!payoff) return "never";
    if (payoff->to) return "up to " + millions(*payoff->to);
    return payoff->from > 0 ? "from " + millions(payoff->from) : "always";
}

Table times_to(const RayReport& report) {
    Table table{.title = "Milliseconds from triangles to the results of N rays",
                .columns = {{"tree"}, {"build", true}, {"layout", true}}};
    for (const double rays : kRays)
        table.columns.push_back({"N = " + fixed(rays / 1e6, 0) + " M", true});
    table.columns.push_back({"pays"});
    const TracedTree* first = first_traced(report);
    for (const TracedTree& tree : report.trees) {
        if (tree.times.empty()) continue;
        auto& row = table.rows.emplace_back();
        row.push_back(title(tree));
        row.push_back(shown(spread(tree.build.samples).median, Unit::ms));
        row.push_back(shown(tree.layout_ms, Unit::ms));
        for (const double rays : kRays)
            row.push_back({fixed(tree.ms_to(rays), 1), tree.ms_to(rays)});
        row.emplace_back(&tree == first ? kNoValue : payoff_text(payoff(tree, *first)));
    }
    return table;
}

Json times_json(const RayTimes& t) {
    Json devices = Json::array();
    for (const DeviceTimes& device : t.devices) {
        devices.push_back({{"device", device.device},
                           {"rays", device.rays},
                           {"ms", spread_json(device.samples)},
                           {"rays_per_second", device.rays_per_second()}});
    }
    return {{"kind", t.kind},
            {"asked", name(t.asked)},
            {"rays", t.rays},
            {"hits", t.hits},
            {"digest", t.digest ? Json(hex(*t.digest)) : Json()},
            {"ms", spread_json(t.samples)},
            {"rays_per_second", t.rays == 0 ? Json() : Json(t.rays_per_second())},
            {"note", or_null(t.note())},
            {"devices", devices}};
}

Json payoff_json(const std::optional<Payoff>& payoff) {
    if (!payoff) return {};
    return {{"from_rays", payoff->from}, {"to_rays", or_null(payoff->to)}};
}

/// All but the rays.
Json tree_json(const RayReport& report, const TracedTree& tree) {
    const Result& build = tree.build;
    const bool traced = !tree.times.empty();
    const TracedTree* first = first_traced(report);
    return {{"tree", tree.name},
            {"preset", or_null(tree.preset)},
            {"outcome", name(build.outcome)},
            {"message", or_null(build.message)},
            {"digest", build.tree ? Json(hex(build.tree->digest)) : Json()},
            {"build_ms", spread_json(build.samples)},
            {"layout_ms", traced ? Json(tree.layout_ms) : Json()},
            {"bytes", tree.bytes == 0 ? Json() : Json(tree.bytes)},
            {"ms_per_ray", traced ? Json(tree.ms_per_ray()) : Json()},
            {"pays", traced && &tree != first ? payoff_json(payoff(tree, *first)) : Json()}};
}

/// The columns of CSV after those of scene and program, and their places in the JSON of a tree with
/// the rays of one kind.
constexpr std::pair<const char*, const char*> kRayColumns[] = {
    {"tree", "/tree"},
    {"preset", "/preset"},
    {"outcome", "/outcome"},
    {"message", "/message"},
    {"build_ms", "/build_ms/median"},
    {"layout_ms", "/layout_ms"},
    {"kind", "/rays/kind"},
    {"asked", "/rays/asked"},
    {"rays", "/rays/rays"},
    {"hits", "/rays/hits"},
    {"ms_median", "/rays/ms/median"},
    {"ms_min", "/rays/ms/min"},
    {"ms_max", "/rays/ms/max"},
    {"rays_per_second", "/rays/rays_per_second"},
    {"note", "/rays/note"}};

void add_record_of(const Json& tree, const RayReport& report, Table& records) {
    const Report& origin = report.origin;
    Record record{{"scene", origin.scene_path},
                  {"triangles", origin.triangles},
                  {"device_name", origin.machine.name},
                  {"version", version().version},
                  {"git", version().git}};
    for (const auto& [heading, place] : kRayColumns) {
        record.emplace_back(heading, tree.value(Json::json_pointer(place), Json()));
    }
    add_record(records, record);
}

/// Adds a tree to JSON, and to CSV a row for each kind of rays, or one if there are none.
void add_tree(const RayReport& report, const TracedTree& tree, Json& trees, Table& records) {
    Json json = tree_json(report, tree);
    Json rays = Json::array();
    for (const RayTimes& times : tree.times) {
        rays.push_back(times_json(times));
        json["rays"] = rays.back();
        add_record_of(json, report, records);
    }
    if (rays.empty()) add_record_of(json, report, records);
    json["rays"] = rays;
    trees.push_back(json);
}

/// What must be known of the rays, which are the same for all trees.
void add_notes(const RayReport& report, std::vector<Remark>& remarks) {
    const TracedTree* first = first_traced(report);
    if (first == nullptr) return;
    for (const RayTimes& times : first->times) {
        const std::string note = times.note();
        if (!note.empty()) remarks.push_back({title(times) + " rays: " + note + ".", true});
    }
}

}  // namespace

Document document_of(const RayReport& report) {
    Document document{.title = "heapwood trace",
                      .tables = {summary(report), rates(report), times_to(report)}};
    if (!report.devices.empty()) {
        document.tables.insert(document.tables.begin() + 2, rates_of_devices(report));
    }
    document.remarks = {{"closest hits; in brackets: any hit, or all hits front to back."},
                        {"N rays are as many of each kind, but for all hits. pays: for how many "
                         "rays the tree is ahead of the first one."}};
    add_notes(report, document.remarks);
    Json trees = Json::array();
    for (const TracedTree& tree : report.trees) {
        add_tree(report, tree, trees, document.records);
        if (!tree.build.message.empty()) {
            document.remarks.push_back({title(tree) + ": " + tree.build.message, true});
        }
    }
    if (!report.trees.empty() && report.trees.front().build.tree) {
        const auto undivided =
            undivided_remark(report.trees.front().build.tree->quality.P, report.origin.triangles,
                             report.origin.configuration);
        if (undivided) document.remarks.push_back(*undivided);
    }
    document.data = {{"schema", kRaySchema},
                     {"kind", "trace"},
                     {"provenance", provenance_json(report.origin)},
                     {"scene", scene_json(report.origin)},
                     {"rays", report.rays},
                     {"seed", report.seed},
                     {"fast", report.fast},
                     {"devices", report.devices},
                     {"camera", report.camera ? camera_json(*report.camera) : Json()},
                     {"results", trees}};
    return document;
}

}  // namespace heapwood::app
