#include "app/base/text.h"
#include "app/distributed/forest_report.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/forest.schema.json; a reader may rely on it.
constexpr int kForestSchema = 1;

using Figures = FigureList<ForestReport, ForestReport>;

const Figures& figures() {
    const auto count = [](const char* name, const char* title, auto get) {
        return figure<ForestReport>(name, name, title, Unit::count, get);
    };
    const auto bytes = [](const char* name, const char* title, auto get) {
        return figure<ForestReport>(name, name, title, Unit::bytes, get);
    };
    const auto ms = [](const char* name, const char* title, auto get) {
        return figure<ForestReport>(name, name, title, Unit::ms, get);
    };
    using R = ForestReport;
    const std::vector<Figure<R, R>> build{
        plain<R>("digest", [](const R& r) { return hex(r.digest); }),
        count("nodes", "nodes", [](const R& r) { return r.built.nodes; }),
        count("references", "references", [](const R& r) { return r.built.references; }),
        plain<R>("depth_limit", [](const R& r) { return or_null(r.built.depth_limit); }),
        count("builds", "builds", [](const R& r) { return r.built.builds; }),
        count("processes", "processes", [](const R& r) { return r.processes; }),
        count("lost", "lost", [](const R& r) { return r.lost; }),
        count("parts", "parts", [](const R& r) { return r.parts; }),
        count("levels", "levels", [](const R& r) { return r.built.levels.size(); }),
        count("cells", "cells", [](const R& r) { return r.built.cells; }),
        count("cell_limit", "cell limit", [](const R& r) { return r.cell_limit; }),
        count("largest_cell", "largest cell", [](const R& r) { return r.built.largest_cell; }),
        count("cell_references", "cells' references",
              [](const R& r) { return r.built.cell_references; }),
        bytes("memory_bytes", "allowed",
              [](const R& r) { return r.memory > 0 ? Json(r.memory) : Json(); }),
        bytes("estimate_bytes", "estimate",
              [](const R& r) { return r.estimate > 0 ? Json(r.estimate) : Json(); }),
        bytes("peak_bytes", "peak", [](const R& r) { return r.peak; }),
        bytes("worker_peak_bytes", "peak of a worker",
              [](const R& r) { return r.worker_peak > 0 ? Json(r.worker_peak) : Json(); }),
        ms("load_ms", "load ms", [](const R& r) { return r.load_ms; }),
        ms("top_ms", "top ms", [](const R& r) { return r.built.top_ms; }),
        ms("cells_ms", "cells ms", [](const R& r) { return r.built.cells_ms; }),
        ms("file_ms", "file ms", [](const R& r) { return r.file_ms; })};
    static const Figures all{
        {.path = "", .known = [](const R&) { return true; }, .figures = build}};
    return all;
}

Table summary(const ForestReport& report) {
    const Report& origin = report.origin;
    const double each =
        static_cast<double>(report.built.references) / static_cast<double>(origin.triangles);
    return facts_table(
        "", {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles, " +
                           grouped(origin.vertices) + " vertices"},
             {"device", origin.machine.text()},
             {"settings", "preset " + origin.preset + ", " + grouped(report.parts) + " parts, " +
                              grouped(report.built.cells) + " cells of at most " +
                              grouped(report.built.largest_cell) + " references"},
             {"tree", grouped(report.built.nodes) + " nodes, " + fixed(each, 2) +
                          " references per triangle"},
             {"digest", hex(report.digest)},
             {"file", report.out}});
}

Table levels(const ForestReport& report) {
    Table table{.title = "Levels of the top",
                .columns = {{"level"},
                            {"open nodes", true},
                            {"to each part", true},
                            {"from each part", true}},
                .depth = Depth::detailed};
    for (std::size_t i = 0; i < report.built.levels.size(); ++i) {
        const kdtree::ForestLevel& level = report.built.levels[i];
        table.rows.push_back({std::to_string(i), shown(level.open, Unit::count),
                              shown(level.bytes_to_part, Unit::bytes),
                              shown(level.bytes_of_part, Unit::bytes)});
    }
    return table;
}

std::vector<Remark> remarks(const ForestReport& report) {
    std::vector<Remark> all;
    if (report.built.depth_limit) {
        all.push_back(overlap_remark(*report.built.depth_limit, report.origin.configuration));
    }
    if (report.built.nodes == 1) {
        const auto undivided =
            undivided_remark(static_cast<double>(report.built.references), report.origin.triangles,
                             report.origin.configuration);
        if (undivided) all.push_back(*undivided);
    }
    if (report.memory > 0 && !report.origin.machine.gpu && report.peak > report.memory) {
        all.push_back({"The build took " + bytes_text(report.peak) + ", more than the " +
                           bytes_text(report.memory) +
                           " of --memory: the estimate is too low for a tree of so many references "
                           "per triangle. Give less memory, so that cells are smaller.",
                       true});
    }
    if (report.lost > 0) {
        all.push_back({std::to_string(report.lost) + " worker process" +
                           (report.lost == 1 ? "" : "es") +
                           " ended early or hung; others did the work again.",
                       true});
    }
    return all;
}

}  // namespace

Document document_of(const ForestReport& report) {
    const auto table = [&](const char* title, const std::vector<std::string>& keys) {
        return figure_table(figures(), title,
                            std::vector<FigureRow<ForestReport>>{{"build", report}}, keys, "");
    };
    Document document{
        .title = "heapwood build",
        .tables = {summary(report), table("Times", {"load_ms", "top_ms", "cells_ms", "file_ms"}),
                   table("Memory",
                         {"peak_bytes", "worker_peak_bytes", "estimate_bytes", "memory_bytes"}),
                   levels(report)},
        .remarks = remarks(report)};
    Record record{{"scene", report.origin.scene_path}};
    append(record, figures(), report);
    add_record(document.records, record);
    document.data = {{"schema", kForestSchema},
                     {"kind", "forest"},
                     {"provenance", provenance_json(report.origin)},
                     {"scene", scene_json(report.origin)},
                     {"build", json_of(figures(), report)},
                     {"levels", array_of(report.built.levels, [](const kdtree::ForestLevel& level) {
                          return Json{{"open", level.open},
                                      {"bytes_to_part", level.bytes_to_part},
                                      {"bytes_of_part", level.bytes_of_part}};
                      })}};
    return document;
}

}  // namespace heapwood::app
