#include <algorithm>
#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/rays/ray_tables.h"
#include "app/render/camera_shape.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

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

/// A tree where it was built, and the first one of its report.
struct InPlaceOf {
    const InPlaceTree& tree;
    const TracedTree& first;

    std::optional<Payoff> pays() const { return payoff(tree.time(), first.time()); }
};

/// A tree in its report.
struct TreeOf {
    const RayReport& report;
    const TracedTree& tree;

    bool traced() const { return !tree.times.empty(); }
    std::optional<Payoff> pays() const {
        const TracedTree* first = first_traced(report);
        return traced() && &tree != first ? payoff(tree.time(), first->time()) : std::nullopt;
    }
    std::optional<InPlaceOf> in_place() const {
        return tree.in_place ? std::optional(InPlaceOf{*tree.in_place, *first_traced(report)})
                             : std::nullopt;
    }
};

Shape<Payoff> payoff_shape() {
    Shape<Payoff> shape;
    shape.field("from_rays", [](const Payoff& p) { return p.from; })
        .field(
            "to_rays", [](const Payoff& p) { return p.to; }, "null: any number");
    return shape;
}
constexpr const char* kPays =
    "for how many rays the results are there before those of the first tree; null: for none";

Shape<InPlaceOf> in_place_shape() {
    using Of = InPlaceOf;
    Shape<Of> shape;
    shape
        .object(
            "build_ms", samples_shape(),
            [](const Of& t) { return samples_or_none(t.tree.build_ms); },
            "from triangles there until the build is done, by a steady clock")
        .object(
            "layout_ms", samples_shape(),
            [](const Of& t) { return samples_or_none(t.tree.layout_ms); },
            "from there until rays can be traced")
        .field(
            "bytes", [](const Of& t) { return t.tree.bytes; }, "of the layout")
        .object(
            "first_rays_ms", samples_shape(),
            [](const Of& t) { return samples_or_none(t.tree.first_rays_ms); },
            "from triangles there until the first hits of all primary rays are there, in one go: "
            "build, layout and rays follow one another on one stream")
        .field(
            "ms_per_ray", [](const Of& t) { return t.tree.time().ms_per_ray; },
            "as of the tree that the host lays out")
        .object(
            "pays", payoff_shape(), [](const Of& t) { return t.pays(); }, kPays);
    return shape;
}

Shape<AnimatedRays> animated_shape() {
    using Of = AnimatedRays;
    Shape<Of> shape;
    shape
        .field(
            "frames", [](const Of& a) { return a.frames; }, "", at_least(1))
        .field(
            "rays", [](const Of& a) { return a.rays; }, "of each frame, those of the kind primary",
            at_least(1))
        .field(
            "hits", [](const Of& a) { return a.hits; }, "rays of all frames that meet anything")
        .field(
            "digest", [](const Of& a) { return Digest{a.digest}; },
            "of all first hits, frame after frame")
        .object(
            "rebuild_ms", samples_shape(),
            [](const Of& a) { return samples_or_none(a.rebuild_ms); },
            "of a frame, from its triangles in the machine's memory until the build is done")
        .object(
            "frame_ms", samples_shape(), [](const Of& a) { return samples_or_none(a.frame_ms); },
            "from there until the first hits of its rays are there")
        .field("frames_per_second", [](const Of& a) { return a.frames_per_second(); });
    return shape;
}

/// All but the rays.
const Shape<TreeOf>& tree_shape() {
    static const Shape<TreeOf> shape = [] {
        using Of = TreeOf;
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
            .field("ms_per_ray", if_traced([](const Of& t) { return t.tree.time().ms_per_ray; }),
                   "the average over closest and any hits, each kind alike; the time to N rays is "
                   "build, layout and N times this")
            .object(
                "pays", payoff_shape(), [](const Of& t) { return t.pays(); }, kPays);
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
        Shape<InPlaceOf> in_place = in_place_shape();
        in_place.array(
            "rays", times_shape(), [](const InPlaceOf& t) -> const auto& { return t.tree.times; });
        tree.object(
            "in_place", in_place, [](const TreeOf& t) { return t.in_place(); },
            "the same tree laid out where it was built, of triangles that lie there: nothing of "
            "them passes the host; null: not measured");
        tree.object(
            "animated", animated_shape(), [](const TreeOf& t) { return t.tree.animated; },
            "the frames of --frames, by one builder; null: not measured");
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
    {"laid_out", "/laid_out"},
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

/// Adds a row for each kind of rays of a tree, and where it was built. A tree without rays gets one
/// row.
void add_records(const TreeOf& tree, Table& records) {
    static const Shape<RayTimes> shape = times_shape();
    Json json = tree_shape().json(tree);
    json["laid_out"] = tree.traced() ? Json("by the host") : Json();
    for (const RayTimes& times : tree.tree.times) {
        json["rays"] = shape.json(times);
        add_record_of(json, tree.report, records);
    }
    if (!tree.traced()) add_record_of(json, tree.report, records);
    if (!tree.tree.in_place) return;
    const Json there = in_place_shape().json(*tree.in_place());
    json["laid_out"] = "in place";
    json["build_ms"] = there["build_ms"];
    json["layout_ms"] = there["layout_ms"]["median"];
    for (const RayTimes& times : tree.tree.in_place->times) {
        json["rays"] = shape.json(times);
        add_record_of(json, tree.report, records);
    }
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
    Document document{.title = "heapwood trace", .tables = ray_tables(report)};
    document.remarks = {{"closest hits; in brackets: any hit, or all hits front to back; nearest: "
                         "points, and the nearest triangle of each."},
                        {"N rays are as many of each kind, but for all hits and points. pays: for "
                         "how many rays the tree is ahead of the first one."}};
    if (std::ranges::any_of(report.trees,
                            [](const TracedTree& t) { return t.in_place.has_value(); })) {
        document.remarks.push_back(
            {"in place: built of triangles that lie there, and laid out there, by one stream."});
    }
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
