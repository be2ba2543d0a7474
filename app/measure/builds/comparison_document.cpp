#include <set>

#include "app/base/text.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/comparison_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"

namespace heapwood::app {
namespace {

/// Why cells have no figures, and what marks mean.
std::vector<Remark> remarks(const Comparison& comparison) {
    std::vector<Remark> all;
    std::set<std::string> marks;
    if (comparison.common.options.run.statistics) {
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
            if (r.outcome == Outcome::done && !deviation_text(r.built.milliseconds).empty()) {
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

/// A result of a group, by its number.
struct ComparedCell {
    const Group& group;
    std::size_t number;

    const Result& result() const { return group.report.results[number]; }
    bool is_fastest() const { return fastest_full(group) == number; }
};

std::vector<ComparedCell> cells_in(const Comparison& comparison) {
    std::vector<ComparedCell> cells;
    for (const Group& group : comparison.groups) {
        for (std::size_t i = 0; i < group.report.results.size(); ++i) cells.push_back({group, i});
    }
    return cells;
}

Record record_of(const ComparedCell& cell) {
    Record record = build_record(cell.group.report, cell.result());
    record.insert(record.begin() + 1, {"pool", cell.group.pool});
    record.emplace_back("fastest_full", cell.is_fastest());
    record.emplace_back("baseline_pool", json_value(text_or_none(cell.group.baseline_pool)));
    return record;
}

Shape<Comparison> comparison_provenance() {
    Shape<Comparison> shape;
    shape.all_of(provenance_shape(false), [](const Comparison& c) { return c.common; })
        .field(
            "threads", [](const Comparison& c) { return c.common.options.run.threads; },
            "asked for on a CPU; 0: one for each hardware thread")
        .field(
            "time_limit_s", [](const Comparison& c) { return c.options.time_limit; },
            "seconds that a turn may take");
    return shape;
}

Shape<Result> allocator_shape() {
    Shape<Result> shape;
    shape.field("name", [](const Result& r) { return r.allocator.name; })
        .field("title", [](const Result& r) { return r.allocator.title; })
        .field("source", [](const Result& r) { return r.allocator.source; })
        .field("full", [](const Result& r) { return r.allocator.full; })
        .choice("method", kMethods, [](const Result& r) { return name(r.method); });
    return shape;
}

Shape<ComparedCell> cell_shape() {
    Shape<ComparedCell> shape;
    shape
        .field(
            "scene", [](const ComparedCell& c) { return c.group.report.scene_path; },
            "its path in scenes")
        .field(
            "pool", [](const ComparedCell& c) { return c.group.pool; }, "one of pools")
        .all_of(build_figures(),
                [](const ComparedCell& c) {
                    return BuildOf{c.group.report, c.result()};
                })
        .amend("outcome", one_of(outcome_names(of_build | of_process | of_cell)))
        .field(
            "fastest_full", [](const ComparedCell& c) { return c.is_fastest(); },
            "of the full allocators on that scene with that pool")
        .field(
            "baseline_pool",
            [](const ComparedCell& c) { return text_or_none(c.group.baseline_pool); },
            "the pool of the atomicmalloc that build.slowdown is over: this cell's, or another of "
            "the same run where it failed with this");
    return shape;
}

const Shape<Comparison>& comparison_shape() {
    static const Shape<Comparison> shape = [] {
        using Of = Comparison;
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "compare")
            .field(
                "complete", [](const Of& c) { return complete(c); },
                "false: interrupted, some cells are unfinished")
            .object(
                "provenance", comparison_provenance(), [](const Of& c) -> const Of& { return c; },
                "where the figures come from")
            .field("pools", [](const Of& c) { return c.pools; },
                   "as the user named them; default: the user named no pool", {{"minItems", 1}})
            .array(
                "allocators", allocator_shape(),
                [](const Of& c) -> const auto& { return c.groups.front().report.results; }, "", 1)
            .array(
                "scenes", scene_facts(), [](const Of& c) -> const auto& { return c.scenes; }, "", 1)
            .array("cells", cell_shape(), cells_in,
                   "one per scene, pool and allocator, in that order", 1);
        return all;
    }();
    return shape;
}

}  // namespace

Document document_of(const Comparison& comparison) {
    Document document{.title = "heapwood compare",
                      .tables = comparison_tables(comparison),
                      .plots = comparison_plots(comparison),
                      .remarks = remarks(comparison)};
    add_choices(comparison, document);
    add_smallest_pools(comparison, document);
    for (const Group& group : comparison.groups) {
        add_heap_maps(group.report, scene_names(comparison)[group.scene] + ", pool " + group.pool,
                      document);
    }
    if (comparison.options.published) add_published(comparison, document);
    for (const ComparedCell& cell : cells_in(comparison)) {
        add_record(document.records, record_of(cell));
    }
    document.data = comparison_shape().json(comparison);
    return document;
}

Json comparison_schema() {
    return document_schema("Heapwood's comparison of allocators (heapwood compare --json)",
                           comparison_shape());
}

}  // namespace heapwood::app
