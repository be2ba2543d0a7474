#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/result_json.h"
#include "app/render/render_report.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/render.schema.json; a reader may rely on it.
constexpr int kSchema = 1;

std::string point_text(const vec3& p) {
    return shortest(p.x) + "," + shortest(p.y) + "," + shortest(p.z);
}

std::string_view mode_of(const RenderReport& report) {
    return name_of(report.settings.mode).name;
}

Table summary(const RenderReport& report) {
    const Report& origin = report.origin;
    const RenderSettings& s = report.settings;
    Table table = facts_table(
        "",
        {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
         {"device", origin.machine.text()},
         {"picture", report.file + ": " + std::string(mode_of(report)) + ", " +
                         std::to_string(s.width) + "x" + std::to_string(s.height) + ", " +
                         grouped(s.samples_or_default()) +
                         (s.samples_or_default() == 1 ? " sample" : " samples") + " a pixel"},
         {"camera", "--camera " + point_text(report.camera.eye) + " --look-at " +
                        point_text(report.camera.target) + " --up " + point_text(report.camera.up) +
                        " --fov " + shortest(report.camera.field_of_view)},
         {"time", fixed(report.render_ms / 1000, 3) + " s, and " + fixed(report.layout_ms, 1) +
                      " ms to lay the tree out for rays"}});
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

/// Where rays and pixels are counted in the same kernel, the rate is not that of the library.
bool counts(const RenderReport& report) {
    const Mode mode = report.settings.mode;
    return mode == Mode::cost || mode == Mode::leaf_size || mode == Mode::leaf_depth;
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

Json rays_json(const TracedRays& traced) {
    return {{"kind", traced.kind},
            {"asked", traced.any_hit ? "any" : "closest"},
            {"rays", traced.rays},
            {"ms", traced.ms},
            {"rays_per_second", traced.rays_per_second()}};
}

Json picture_json(const RenderReport& report) {
    const RenderSettings& s = report.settings;
    Json scale;
    if (report.scale) {
        scale = {{"title", report.scale->title},
                 {"least", report.scale->least},
                 {"most", report.scale->most}};
    }
    Json effort;
    if (report.effort) {
        effort = {{"nodes", report.effort->nodes},
                  {"leaves", report.effort->leaves},
                  {"tests", report.effort->tests}};
    }
    return {{"file", report.file},
            {"mode", mode_of(report)},
            {"width", s.width},
            {"height", s.height},
            {"samples", s.samples_or_default()},
            {"bounces", s.mode == Mode::path ? Json(s.bounces) : Json()},
            {"reach", s.mode == Mode::ambient_occlusion ? Json(s.occlusion_reach) : Json()},
            {"seed", s.seed},
            {"scale", scale},
            {"effort", effort}};
}

Record record(const RenderReport& report, const TracedRays& traced) {
    const Report& origin = report.origin;
    const RenderSettings& s = report.settings;
    return {{"scene", origin.scene_path},
            {"triangles", origin.triangles},
            {"device_name", origin.machine.name},
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
    if (counts(report)) {
        document.remarks.push_back(
            {"These rays count their steps, and are slower for it than those of other modes."});
    }
    Json rays = Json::array();
    for (const TracedRays& traced : report.rays) {
        rays.push_back(rays_json(traced));
        add_record(document.records, record(report, traced));
    }
    document.data = {{"schema", kSchema},
                     {"kind", "render"},
                     {"provenance", provenance_json(report.origin)},
                     {"scene", scene_json(report.origin)},
                     {"digest", hex(report.tree_digest)},
                     {"camera", camera_json(report.camera)},
                     {"picture", picture_json(report)},
                     {"layout_ms", report.layout_ms},
                     {"render_ms", report.render_ms},
                     {"rays", rays}};
    return document;
}

}  // namespace heapwood::app
