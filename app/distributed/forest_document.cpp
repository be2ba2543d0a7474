#include "app/base/text.h"
#include "app/distributed/forest_report.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

using Figures = FigureList<ForestReport, ForestReport>;

const Figures& figures() {
    using R = ForestReport;
    const auto of = [](Unit unit, const char* name, const char* title, auto get,
                       const char* about) {
        return figure<R>(name, name, title, unit, get).about(about);
    };
    const auto count = [of](const char* name, const char* title, auto get, const char* about) {
        return of(Unit::count, name, title, get, about);
    };
    const auto bytes = [of](const char* name, const char* title, auto get, const char* about) {
        return of(Unit::bytes, name, title, get, about);
    };
    const auto ms = [of](const char* name, const char* title, auto get, const char* about) {
        return of(Unit::ms, name, title, get, about);
    };
    const auto if_any = [](std::uint64_t R::*member) {
        return [=](const R& r) { return r.*member > 0 ? std::optional(r.*member) : std::nullopt; };
    };
    static const Figures all{
        {"",
         {},
         {plain<R>("digest", [](const R& r) { return Digest{r.digest}; }),
          count(
              "nodes", "nodes", [](const R& r) { return r.built.nodes; }, "of the tree")
              .never_zero(),
          count(
              "references", "references", [](const R& r) { return r.built.references; },
              "of all leaves"),
          plain<R>("depth_limit", [](const R& r) { return r.built.depth_limit; })
              .about("nodes there became leaves, for the budget of references"),
          count(
              "builds", "builds", [](const R& r) { return r.built.builds; },
              "to find the depth limit; of the last one are the figures")
              .never_zero(),
          count(
              "processes", "processes", [](const R& r) { return r.processes; },
              "that hold parts and build cells")
              .never_zero(),
          count(
              "lost", "lost", [](const R& r) { return r.lost; },
              "processes that ended early, whose work others did again"),
          count(
              "parts", "parts", [](const R& r) { return r.parts; }, "ranges of triangles")
              .never_zero(),
          count(
              "levels", "levels", [](const R& r) { return r.built.levels.size(); },
              "of the top, that all parts divide together"),
          count(
              "cells", "cells", [](const R& r) { return r.built.cells; },
              "nodes that were built by themselves")
              .never_zero(),
          count(
              "cell_limit", "cell limit", [](const R& r) { return r.cell_limit; },
              "a node of at most this many references is a cell"),
          count(
              "largest_cell", "largest cell", [](const R& r) { return r.built.largest_cell; },
              "references"),
          count(
              "cell_references", "cells' references",
              [](const R& r) { return r.built.cell_references; },
              "of all cells, before they were built"),
          bytes("memory_bytes", "allowed", if_any(&R::memory),
                "that the build might take, in one process"),
          bytes("estimate_bytes", "estimate", if_any(&R::estimate),
                "that it was to take at most, in one process"),
          bytes(
              "peak_bytes", "peak", [](const R& r) { return r.peak; },
              "of the program that were in memory at a time, at most"),
          bytes("worker_peak_bytes", "peak of a worker", if_any(&R::worker_peak),
                "the most that one worker process had in memory; null: the build has no workers"),
          ms(
              "load_ms", "load ms", [](const R& r) { return r.load_ms; },
              "reading or making the scene"),
          ms(
              "top_ms", "top ms", [](const R& r) { return r.built.top_ms; }, "dividing the top"),
          ms(
              "cells_ms", "cells ms", [](const R& r) { return r.built.cells_ms; },
              "building and joining the cells"),
          ms(
              "file_ms", "file ms", [](const R& r) { return r.file_ms; }, "completing the file")}}};
    return all;
}

const Shape<ForestReport>& forest_shape() {
    static const Shape<ForestReport> shape = [] {
        using Of = ForestReport;
        using kdtree::ForestLevel;
        const auto origin = [](const Of& r) -> const Report& { return r.origin; };
        Shape<Of> build;
        build.all_of(figures(), [](const Of& r) { return r; });
        Shape<ForestLevel> level;
        level
            .field(
                "open", [](const ForestLevel& l) { return l.open; }, "nodes", at_least(1))
            .field(
                "bytes_to_part", [](const ForestLevel& l) { return l.bytes_to_part; },
                "decisions, to each part", at_least(1))
            .field(
                "bytes_of_part", [](const ForestLevel& l) { return l.bytes_of_part; },
                "bins, from each part", at_least(1));
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "forest")
            .object("provenance", provenance_shape(), origin, "where the figures come from")
            .object("scene", scene_shape(), origin)
            .object("build", build, [](const Of& r) -> const Of& { return r; })
            .array(
                "levels", level, [](const Of& r) -> const auto& { return r.built.levels; });
        return all;
    }();
    return shape;
}

Table summary(const ForestReport& report) {
    const Report& origin = report.origin;
    const double each =
        static_cast<double>(report.built.references) / static_cast<double>(origin.triangles);
    return facts_table(
        "", {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles, " +
                           grouped(origin.vertices) + " vertices"},
             {"device", origin.provenance.machine.text()},
             {"settings", "preset " + origin.options.preset + ", " + grouped(report.parts) +
                              " parts, " + grouped(report.built.cells) + " cells of at most " +
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
        all.push_back(overlap_remark(*report.built.depth_limit, report.origin.options.config));
    }
    if (report.built.nodes == 1) {
        const auto undivided =
            undivided_remark(static_cast<double>(report.built.references), report.origin.triangles,
                             report.origin.options.config);
        if (undivided) all.push_back(*undivided);
    }
    if (report.memory > 0 && !report.origin.provenance.machine.gpu && report.peak > report.memory) {
        all.push_back(
            {"The build took " + bytes_text(report.peak) + ", more than the " +
                 bytes_text(report.memory) +
                 " of --memory: the estimate is too low for a tree with that many references "
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
    document.data = forest_shape().json(report);
    return document;
}

Json forest_schema() {
    return document_schema(
        "Heapwood's report of a build in parts (heapwood build --memory or --parts, --json)",
        forest_shape());
}

}  // namespace heapwood::app
