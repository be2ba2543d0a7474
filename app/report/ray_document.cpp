#include "app/report/ray_document.h"

#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/result_json.h"
#include "app/report/cells.h"

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
    return {.title = "",
            .columns = {{""}, {""}},
            .rows = {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
                     {"device", origin.machine.text()},
                     {"rays", grouped(report.rays) + " of each kind, seed " +
                                  std::to_string(report.seed) +
                                  (report.fast ? ", the fast triangle test" : "")}}};
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
        for (std::size_t i = 1; i < table.columns.size(); ++i) {
            if (i <= tree.times.size()) {
                row.push_back(shown(tree.times[i - 1].rays_per_second(), Unit::rate));
            } else {
                row.push_back(tree.build.outcome == Outcome::done
                                  ? Cell(kNoValue)
                                  : failed_cell(tree.build.outcome, tree.build.message));
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
    return {
        {"kind", t.kind}, {"asked", name(t.asked)},       {"rays", t.rays},
        {"hits", t.hits}, {"ms", spread_json(t.samples)}, {"rays_per_second", t.rays_per_second()}};
}

Json payoff_json(const std::optional<Payoff>& payoff) {
    if (!payoff) return {};
    return {{"from_rays", payoff->from}, {"to_rays", payoff->to ? Json(*payoff->to) : Json()}};
}

Json tree_json(const RayReport& report, const TracedTree& tree) {
    const Result& build = tree.build;
    const bool traced = !tree.times.empty();
    const TracedTree* first = first_traced(report);
    const auto known = [&](const Json& value) { return traced ? value : Json(); };
    Json times = Json::array();
    for (const RayTimes& t : tree.times) times.push_back(times_json(t));
    return {{"tree", tree.name},
            {"preset", tree.preset.empty() ? Json() : Json(tree.preset)},
            {"outcome", name(build.outcome)},
            {"message", build.message.empty() ? Json() : Json(build.message)},
            {"digest", build.tree ? Json(hex(build.tree->digest)) : Json()},
            {"build_ms", build.samples.empty() ? Json() : spread_json(build.samples)},
            {"layout_ms", known(tree.layout_ms)},
            {"bytes", tree.bytes == 0 ? Json() : Json(tree.bytes)},
            {"ms_per_ray", traced ? Json(tree.ms_per_ray()) : Json()},
            {"pays", traced && &tree != first ? payoff_json(payoff(tree, *first)) : Json()},
            {"rays", times}};
}

void add_records(Table& records, const RayReport& report, const TracedTree& tree) {
    const Report& origin = report.origin;
    const auto add = [&](const RayTimes* t) {
        const auto known = [&](bool is_known, const auto& value) {
            return is_known ? Json(value()) : Json();
        };
        const auto ms = [&](double Spread::*which) {
            return known(t != nullptr, [&] { return spread(t->samples).*which; });
        };
        const bool built = !tree.build.samples.empty();
        add_record(
            records,
            {{"scene", origin.scene_path},
             {"triangles", origin.triangles},
             {"device_name", origin.machine.name},
             {"version", version().version},
             {"git", version().git},
             {"tree", tree.name},
             {"preset", tree.preset},
             {"outcome", name(tree.build.outcome)},
             {"message", tree.build.message},
             {"build_ms", known(built, [&] { return spread(tree.build.samples).median; })},
             {"layout_ms", known(t != nullptr, [&] { return tree.layout_ms; })},
             {"kind", known(t != nullptr, [&] { return t->kind; })},
             {"asked", known(t != nullptr, [&] { return name(t->asked); })},
             {"rays", known(t != nullptr, [&] { return t->rays; })},
             {"hits", known(t != nullptr, [&] { return t->hits; })},
             {"ms_median", ms(&Spread::median)},
             {"ms_min", ms(&Spread::min)},
             {"ms_max", ms(&Spread::max)},
             {"rays_per_second", known(t != nullptr, [&] { return t->rays_per_second(); })}});
    };
    for (const RayTimes& t : tree.times) add(&t);
    if (tree.times.empty()) add(nullptr);
}

Json point_json(const glm::vec3& p) {
    return Json::array({p.x, p.y, p.z});
}

}  // namespace

Document document_of(const RayReport& report) {
    Document document{.title = "heapwood trace",
                      .tables = {summary(report), rates(report), times_to(report)}};
    document.remarks = {{"closest hits; in brackets: any hit, or all hits front to back."},
                        {"N rays are as many of each kind, but for all hits. pays: for how many "
                         "rays the tree is ahead of the first one."}};
    Json trees = Json::array();
    for (const TracedTree& tree : report.trees) {
        trees.push_back(tree_json(report, tree));
        add_records(document.records, report, tree);
        if (!tree.build.message.empty()) {
            document.remarks.push_back({title(tree) + ": " + tree.build.message, true});
        }
    }
    document.data = {{"schema", kRaySchema},
                     {"kind", "trace"},
                     {"provenance", provenance_json(report.origin)},
                     {"scene", scene_json(report.origin)},
                     {"rays", report.rays},
                     {"seed", report.seed},
                     {"fast", report.fast},
                     {"camera",
                      {{"eye", point_json(report.camera.eye)},
                       {"target", point_json(report.camera.target)},
                       {"field_of_view", report.camera.field_of_view}}},
                     {"results", trees}};
    return document;
}

}  // namespace heapwood::app
