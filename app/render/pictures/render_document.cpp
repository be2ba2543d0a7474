#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/result_json.h"
#include "app/render/camera_shape.h"
#include "app/render/pictures/render_report.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

std::string point_text(const vec3& p) {
    return shortest(p.x) + "," + shortest(p.y) + "," + shortest(p.z);
}

std::string_view mode_of(const RenderReport& report) {
    return facts_of(report.settings.mode).name;
}

std::string time_of(const RenderReport& report) {
    const std::string rays = fixed(report.render_ms / 1000, 3) + " s, and ";
    if (report.frames.empty()) {
        return rays + fixed(report.layout_ms, 1) + " ms to lay the tree out for rays";
    }
    double build_ms = 0;
    for (const FramePicture& frame : report.frames) build_ms += frame.build_ms;
    const auto count = static_cast<double>(report.frames.size());
    return grouped(report.frames.size()) + " frames: " + rays + fixed(build_ms, 1) +
           " ms to build their trees; " + fixed(1000 * count / (report.render_ms + build_ms), 1) +
           " frames a second";
}

Table summary(const RenderReport& report) {
    const Report& origin = report.origin;
    const RenderSettings& s = report.settings;
    Table table = facts_table(
        "",
        {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
         {"device", origin.provenance.machine.text()},
         {"picture", report.file + ": " + std::string(mode_of(report)) + ", " +
                         std::to_string(s.width) + "x" + std::to_string(s.height) + ", " +
                         grouped(s.samples_or_default()) +
                         (s.samples_or_default() == 1 ? " sample" : " samples") + " a pixel"},
         {"camera", "--camera " + point_text(report.camera.eye) + " --look-at " +
                        point_text(report.camera.target) + " --up " + point_text(report.camera.up) +
                        " --fov " + shortest(report.camera.field_of_view)},
         {"time", time_of(report)}});
    if (report.scale) {
        table.rows.push_back({"colours", std::string(report.scale->title) + ", from " +
                                             shortest(report.scale->least) + " to " +
                                             shortest(report.scale->most)});
    }
    if (report.effort) {
        table.rows.push_back({"a ray", fixed(report.effort->nodes, 2) + " nodes, " +
                                           fixed(report.effort->leaves, 2) + " leaves, " +
                                           fixed(report.effort->tests, 2) + " tests"});
    }
    return table;
}

Table rates(const RenderReport& report) {
    Table table{.title = "Rays",
                .columns = {{"kind"}, {"rays", true}, {"ms", true}, {"millions a second", true}}};
    for (const TracedRays& traced : report.rays) {
        table.rows.push_back({std::string(traced.kind) + (traced.any_hit ? " (any)" : ""),
                              shown(traced.rays, Unit::count), shown(traced.ms, Unit::ms),
                              shown(traced.rays_per_second(), Unit::rate)});
    }
    return table;
}

Shape<TracedRays> rays_shape() {
    using Of = TracedRays;
    Shape<Of> shape;
    shape
        .choice(
            "kind", Json{"primary", "bounce", "shadow", "ambient-occlusion", "distance"},
            [](const Of& t) { return t.kind; },
            "distance: of points in a plane, where rays from the eye meet it")
        .choice(
            "asked", Json{"closest", "any"},
            [](const Of& t) { return t.any_hit ? "any" : "closest"; },
            "the first hit, or the nearest surface; whether there is any hit")
        .field(
            "rays", [](const Of& t) { return t.rays; }, "", at_least(1))
        .field(
            "ms", [](const Of& t) { return t.ms; },
            "milliseconds from when these rays are known until their hits are")
        .field("rays_per_second", [](const Of& t) { return t.rays_per_second(); });
    return shape;
}

Shape<ColourScale> scale_shape() {
    const Json number{{"type", "number"}};
    Shape<ColourScale> shape;
    shape.field("title", [](const ColourScale& s) { return s.title; })
        .put("least", number, [](const ColourScale& s) { return json_value(s.least); })
        .put(
            "most", number, [](const ColourScale& s) { return json_value(s.most); },
            "and all above");
    return shape;
}

Shape<MeanEffort> effort_shape() {
    using Of = MeanEffort;
    Shape<Of> shape;
    shape
        .field(
            "nodes", [](const Of& e) { return e.nodes; }, "inner nodes")
        .field(
            "leaves", [](const Of& e) { return e.leaves; }, "leaves with references")
        .field(
            "tests", [](const Of& e) { return e.tests; }, "triangles");
    return shape;
}

Shape<RenderReport> picture_shape() {
    using Of = RenderReport;
    const auto in_mode = [](Mode mode, auto member) {
        return [=](const Of& r) {
            return r.settings.mode == mode ? std::optional(r.settings.*member) : std::nullopt;
        };
    };
    Json modes = Json::array();
    for (const ModeFacts& mode : kModes) modes.push_back(mode.name);
    Shape<Of> shape;
    shape.field("file", [](const Of& r) { return r.file; })
        .choice("mode", modes, mode_of)
        .field(
            "width", [](const Of& r) { return r.settings.width; }, "pixels", at_least(1))
        .field(
            "height", [](const Of& r) { return r.settings.height; }, "pixels", at_least(1))
        .field(
            "samples", [](const Of& r) { return r.settings.samples_or_default(); },
            "rays from the eye for a pixel", at_least(1))
        .field("bounces", in_mode(Mode::path, &RenderSettings::bounces),
               "of paths, at most; null in other modes")
        .field("reach", in_mode(Mode::ambient_occlusion, &RenderSettings::occlusion_reach),
               "of rays for ambient occlusion, in parts of the scene's diagonal; null in other "
               "modes")
        .field(
            "seed", [](const Of& r) { return r.settings.seed; }, "of the samples")
        .object(
            "scale", scale_shape(), [](const Of& r) { return r.scale; },
            "what colours stand for; null in modes that show light")
        .object(
            "effort", effort_shape(), [](const Of& r) { return r.effort; },
            "the mean of a ray from the eye; null in all modes but cost");
    return shape;
}

Shape<FramePicture> frame_shape() {
    using Of = FramePicture;
    Shape<Of> shape;
    shape.field("file", [](const Of& f) { return f.file; })
        .field(
            "build_ms", [](const Of& f) { return f.build_ms; },
            "milliseconds from the frame in the machine's memory until rays can be traced")
        .field("render_ms", [](const Of& f) { return f.render_ms; });
    return shape;
}

const Shape<RenderReport>& render_shape() {
    static const Shape<RenderReport> shape = [] {
        using Of = RenderReport;
        const auto origin = [](const Of& r) -> const Report& { return r.origin; };
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "render")
            .object("provenance", provenance_shape(), origin, "where the figures come from")
            .object("scene", scene_shape(), origin)
            .field("digest", [](const Of& r) { return Digest{r.tree_digest}; })
            .object(
                "camera", camera_shape(), [](const Of& r) { return r.camera; },
                "where the picture is seen from")
            .object("picture", picture_shape(), [](const Of& r) -> const Of& { return r; })
            .field(
                "layout_ms", [](const Of& r) { return r.layout_ms; },
                "milliseconds from the tree in the host's memory to one that rays can read; 0 of "
                "an animation, whose trees stay where they are built")
            .array(
                "frames", frame_shape(), [](const Of& r) -> const auto& { return r.frames; },
                "of an animation, whose digest is the first frame's, and whose scale and effort "
                "are the last one's; empty: one picture")
            .field(
                "render_ms", [](const Of& r) { return r.render_ms; },
                "of the picture: rays, shading, and a copy of the pixels to the host")
            .array(
                "rays", rays_shape(), [](const Of& r) -> const auto& { return r.rays; }, "", 1);
        return all;
    }();
    return shape;
}

Record record(const RenderReport& report, const TracedRays& traced) {
    const Report& origin = report.origin;
    const RenderSettings& s = report.settings;
    return {{"scene", origin.scene_path},
            {"triangles", origin.triangles},
            {"device_name", origin.provenance.machine.name},
            {"version", version().version},
            {"git", version().git},
            {"mode", mode_of(report)},
            {"width", s.width},
            {"height", s.height},
            {"samples", s.samples_or_default()},
            {"render_ms", report.render_ms},
            {"kind", traced.kind},
            {"asked", traced.any_hit ? "any" : "closest"},
            {"rays", traced.rays},
            {"ms", traced.ms},
            {"rays_per_second", traced.rays_per_second()}};
}

}  // namespace

Document document_of(const RenderReport& report) {
    Document document{.title = "heapwood render", .tables = {summary(report), rates(report)}};
    document.remarks = {
        {"Rays of a kind from when they are known until their hits are; any: asked "
         "is whether there is a hit, else for the first."}};
    // The rate of rays is then not that of the library.
    if (facts_of(report.settings.mode).of_tree) {
        document.remarks.push_back(
            {"These rays count their steps, and are slower for it than those of other modes."});
    }
    if (report.settings.mode == Mode::distance) {
        document.remarks.push_back(
            {"These are points in the plane of --look-at, each with a walk of its own to the "
             "nearest surface."});
    }
    for (const TracedRays& traced : report.rays) {
        add_record(document.records, record(report, traced));
    }
    document.data = render_shape().json(report);
    return document;
}

Json render_schema() {
    return document_schema("Heapwood's report of a picture (heapwood render --json)",
                           render_shape());
}

}  // namespace heapwood::app
