#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/rays/ray_report.h"
#include "app/render/camera_shape.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The numbers of rays that a time is told for.
constexpr double kRays[] = {1e6, 1e7, 1e8, 1e9};

std::string title(const TracedTree& tree) {
    return starred(tree.name, tree.build.allocator.full || tree.preset.empty()) +
           (tree.preset.empty() ? "" : ", " + tree.preset);
}

/// "shadow (any)"; of all hits of random rays "random (all)"; of points "uniform (nearest)".
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
        "",
        {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
         {"device", origin.provenance.machine.text()},
         {"rays", grouped(report.options.rays) + " of each kind, seed " +
                      std::to_string(report.options.seed) +
                      (report.options.fast ? ", the fast triangle test" : "") +
                      (report.options.devices.empty()
                           ? ""
                           : ", shared by " + grouped(report.options.devices.size()) + " GPUs")}});
}

Table rates(const RayReport& report) {
    Table table{.title = "Millions of rays a second, and of points", .columns = {{"tree"}}};
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
    Table table{.title = "Millions of rays a second of each GPU, and of points",
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
        row.push_back(shown(spread(tree.build.built.milliseconds).median, Unit::ms));
        row.push_back(shown(tree.layout_ms, Unit::ms));
        for (const double rays : kRays)
            row.push_back({fixed(tree.ms_to(rays), 1), tree.ms_to(rays)});
        row.emplace_back(&tree == first ? kNoValue : payoff_text(payoff(tree, *first)));
    }
    return table;
}

Shape<DeviceTimes> device_shape() {
    using Of = DeviceTimes;
    Shape<Of> shape;
    shape.field("device", [](const Of& d) { return d.device; })
        .field(
            "rays", [](const Of& d) { return d.rays; }, "", at_least(1))
        .object("ms", samples_shape(), [](const Of& d) { return samples_or_none(d.samples); })
        .field("rays_per_second", [](const Of& d) { return d.rays_per_second(); });
    return shape;
}

Shape<RayTimes> times_shape() {
    using Of = RayTimes;
    Shape<Of> shape;
    shape.choice("kind", kRayKinds, [](const Of& t) { return t.kind; })
        .choice(
            "asked", Json{"closest", "any", "all", "nearest"},
            [](const Of& t) { return name(t.asked); },
            "the first hit; whether there is any; all of them, front to back; of points the "
            "nearest point of all triangles")
        .field(
            "rays", [](const Of& t) { return t.rays; },
            "or points; 0: they begin where primary rays hit a triangle, and none does")
        .field(
            "hits", [](const Of& t) { return t.hits; },
            "rays that meet anything; of all hits their number; points that have a nearest one")
        .field(
            "digest",
            [](const Of& t) { return t.digest ? std::optional(Digest{*t.digest}) : std::nullopt; },
            "of all answers, in the rays' order: t, barycentrics and triangle of each hit, or "
            "whether there is one, the distance being t of points; Embree's are unknown")
        .object(
            "ms", samples_shape(), [](const Of& t) { return samples_or_none(t.samples); },
            "milliseconds of all these rays, by a steady clock; of rays that are shared until the "
            "last GPU is done")
        .field("rays_per_second",
               [](const Of& t) {
                   return t.rays == 0 ? std::nullopt : std::optional(t.rays_per_second());
               })
        .field(
            "note", [](const Of& t) { return text_or_none(t.note()); },
            "what a reader of the rate must know: that there are no such rays, or that few of them "
            "hit a triangle")
        .array(
            "devices", device_shape(), [](const Of& t) -> const auto& { return t.devices; },
            "each GPU that shares the rays");
    return shape;
}

/// A tree in its report.
struct TreeOf {
    const RayReport& report;
    const TracedTree& tree;

    bool traced() const { return !tree.times.empty(); }
    std::optional<Payoff> pays() const {
        const TracedTree* first = first_traced(report);
        return traced() && &tree != first ? payoff(tree, *first) : std::nullopt;
    }
};

/// All but the rays.
const Shape<TreeOf>& tree_shape() {
    static const Shape<TreeOf> shape = [] {
        using Of = TreeOf;
        Shape<Payoff> payoff;
        payoff.field("from_rays", [](const Payoff& p) { return p.from; })
            .field(
                "to_rays", [](const Payoff& p) { return p.to; }, "null: any number");
        const auto if_traced = [](auto get) {
            return [=](const Of& t) { return t.traced() ? std::optional(get(t)) : std::nullopt; };
        };
        Shape<Of> all;
        all.field(
               "tree", [](const Of& t) { return t.tree.name; },
               "the allocator that it was built with; levels, where the method has none; embree: "
               "Embree's own")
            .field(
                "preset", [](const Of& t) { return text_or_none(t.tree.preset); },
                "that its parameters began with; null: Embree's")
            .choice("outcome", outcome_names(of_build),
                    [](const Of& t) { return name(t.tree.build.outcome); })
            .field(
                "message", [](const Of& t) { return text_or_none(t.tree.build.message); },
                "why, if not done")
            .field(
                "digest",
                [](const Of& t) {
                    const std::optional<TreeFacts>& facts = t.tree.build.tree;
                    return facts ? std::optional(Digest{facts->digest}) : std::nullopt;
                },
                "trees of one digest are the same tree, and traced once")
            .object(
                "build_ms", samples_shape(),
                [](const Of& t) { return samples_or_none(t.tree.build.built.milliseconds); },
                "as in heapwood build; Embree's by a steady clock, once")
            .field("layout_ms", if_traced([](const Of& t) { return t.tree.layout_ms; }),
                   "milliseconds from the tree in the host's memory to one that rays can read")
            .field(
                "bytes",
                [](const Of& t) {
                    return t.tree.bytes == 0 ? std::nullopt : std::optional(t.tree.bytes);
                },
                "of that")
            .field("ms_per_ray", if_traced([](const Of& t) { return t.tree.ms_per_ray(); }),
                   "the average over closest and any hits, each kind alike; the time to N rays is "
                   "build, layout and N times this")
            .object(
                "pays", payoff, [](const Of& t) { return t.pays(); },
                "for how many rays the results are there before those of the first tree; null: for "
                "none");
        return all;
    }();
    return shape;
}

const Shape<RayReport>& ray_shape() {
    static const Shape<RayReport> shape = [] {
        using Of = RayReport;
        Shape<TreeOf> tree = tree_shape();
        tree.array(
            "rays", times_shape(), [](const TreeOf& t) -> const auto& { return t.tree.times; });
        const auto origin = [](const Of& r) -> const Report& { return r.origin; };
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "trace")
            .object("provenance", provenance_shape(), origin, "where the figures come from")
            .object("scene", scene_shape(), origin)
            .field(
                "rays", [](const Of& r) { return r.options.rays; },
                "of each kind, and points: of a square picture", at_least(1024))
            .field("seed", [](const Of& r) { return r.options.seed; })
            .field(
                "fast", [](const Of& r) { return r.options.fast; },
                "with the faster test of triangles, which is wrong for a few rays in a million")
            .field(
                "devices", [](const Of& r) { return r.options.devices; },
                "GPUs that share the rays, by CUDA's numbers; empty: the rays are not shared")
            .object(
                "camera", camera_shape(), [](const Of& r) { return r.camera; },
                "where primary rays come from; null: no tree was traced")
            .array(
                "results", tree,
                [](const Of& r) {
                    std::vector<TreeOf> trees;
                    for (const TracedTree& one : r.trees) trees.push_back({r, one});
                    return trees;
                },
                "one per preset and allocator, then perhaps Embree's tree", 1);
        return all;
    }();
    return shape;
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
                  {"device_name", origin.provenance.machine.name},
                  {"version", version().version},
                  {"git", version().git}};
    for (const auto& [heading, place] : kRayColumns) {
        record.emplace_back(heading, tree.value(Json::json_pointer(place), Json()));
    }
    add_record(records, record);
}

/// Adds a row for each kind of rays of a tree. A tree without rays gets one row.
void add_records(const TreeOf& tree, Table& records) {
    static const Shape<RayTimes> shape = times_shape();
    Json json = tree_shape().json(tree);
    for (const RayTimes& times : tree.tree.times) {
        json["rays"] = shape.json(times);
        add_record_of(json, tree.report, records);
    }
    if (!tree.traced()) add_record_of(json, tree.report, records);
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
    if (!report.options.devices.empty()) {
        document.tables.insert(document.tables.begin() + 2, rates_of_devices(report));
    }
    document.remarks = {{"closest hits; in brackets: any hit, or all hits front to back; nearest: "
                         "points, and the nearest triangle of each."},
                        {"N rays are as many of each kind, but for all hits and points. pays: for "
                         "how many rays the tree is ahead of the first one."}};
    add_notes(report, document.remarks);
    for (const TracedTree& tree : report.trees) {
        add_records({report, tree}, document.records);
        if (!tree.build.message.empty()) {
            document.remarks.push_back({title(tree) + ": " + tree.build.message, true});
        }
    }
    if (!report.trees.empty() && report.trees.front().build.tree) {
        const auto undivided =
            undivided_remark(report.trees.front().build.tree->quality.P, report.origin.triangles,
                             report.origin.options.config);
        if (undivided) document.remarks.push_back(*undivided);
    }
    document.data = ray_shape().json(report);
    return document;
}

Json trace_schema() {
    return document_schema("Heapwood's report of rays (heapwood trace --json)", ray_shape());
}

}  // namespace heapwood::app
