#include <algorithm>
#include <utility>

#include "app/base/text.h"
#include "app/measure/builds/build_figures.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/result_json.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

using Results = std::vector<const Result*>;

std::string vector_text(const glm::vec3& v) {
    return "(" + shortest(v.x) + ", " + shortest(v.y) + ", " + shortest(v.z) + ")";
}

/// A row for each of these results, and a column for each figure with that key.
Table result_table(const Report& report, const Results& results, std::string title,
                   const std::vector<std::string>& keys, Depth depth = Depth::detailed) {
    std::vector<FigureRow<BuildOf>> rows;
    for (const Result* r : results) {
        rows.push_back({starred(r->allocator.name, r->allocator.full), BuildOf{report, *r}});
    }
    Table table = figure_table(build_figures(), std::move(title), rows, keys);
    for (Column& column : table.columns) {
        if (column.title == "warps" && !report.provenance.machine.gpu) column.title = "threads";
    }
    table.depth = depth;
    return table;
}

std::string settings_text(const Report& report, bool allocators) {
    const kdtree::BuildConfig& c = report.options.config;
    return std::string(!allocators      ? "arrays of whole levels (no allocator)"
                       : c.small_arrays ? "every child's array comes from the allocator"
                                        : "the arrays of small nodes do not come from the "
                                          "allocator") +
           ", clipping " + (c.clip ? "on" : "off") + ", preset " + report.options.preset;
}

const Result* first_tree(const Report& report) {
    for (const Result& result : report.results) {
        if (result.tree) return &result;
    }
    return nullptr;
}

/// What is the same for all allocators, a line each.
Table summary_table(const Report& report, bool allocators) {
    Table table =
        facts_table("",
                    {{"scene", report.scene_path + ": " + grouped(report.triangles) +
                                   " triangles, " + grouped(report.vertices) + " vertices"},
                     {"device", report.provenance.machine.text()},
                     {"settings", settings_text(report, allocators)}},
                    Depth::brief);
    if (const Result* r = first_tree(report)) {
        const kdtree::Quality& q = r->tree->quality;
        table.rows.push_back(
            {"tree", grouped(q.nodes) + " nodes, " + grouped(q.leaves) + " leaves, depth " +
                         grouped(q.max_depth) + ", " + fixed(q.references_per_triangle, 2) +
                         " references per triangle, SAH(1, 1.5) " + fixed(r->tree->sah_1_1_5, 2)});
        table.rows.push_back(
            {"digest", hex(r->tree->digest) + (r->tree->verified ? ", verified" : "")});
    }
    return table;
}

Table scene_table(const Report& report, bool allocators) {
    return facts_table(
        "Scene",
        {{"scene", report.scene_path},
         {"N_tris", grouped(report.triangles) + " (" + grouped(report.degenerate) +
                        " of zero area), " + grouped(report.vertices) + " vertices"},
         {"bounds", vector_text(report.bounds.lo) + " to " + vector_text(report.bounds.hi)},
         {"device", report.provenance.machine.text()},
         {"settings", settings_text(report, allocators)}},
        Depth::detailed);
}

Table tree_table(const Report& report, const Result& result) {
    static const std::vector<std::pair<const char*, const char*>> kRows{
        {"nodes", "inner nodes and leaves"},
        {"leaves", ""},
        {"empty_leaves", ""},
        {"references", "from leaves"},
        {"references_per_triangle", "references per triangle"},
        {"max_depth", "of the deepest leaf"},
        {"depth_limit", "where --max-duplication ended it"},
        {"largest_leaf", "references"},
        {"I", "inner nodes that a random ray visits"},
        {"L", "leaves that it visits"},
        {"P", "triangles that it tests"},
        {"sah_1_1_5", "I + 1.5 P"},
        {"sah", "Ct I + Ci P, by the build's own costs"},
        {"digest", ""},
        {"verified", "against the scene"}};
    Table table{.title = trees_agree(report) ? std::string("Tree")
                                             : "Tree of " + std::string(result.allocator.name),
                .columns = {{""}, {"", true}, {""}},
                .depth = Depth::detailed};
    for (const auto& [key, meaning] : kRows) {
        table.rows.push_back({figure_of(build_figures(), key).title,
                              figure_cell(build_figures(), key, {report, result}), meaning});
    }
    return table;
}

/// The smallest pools, if they were asked for: in bytes and as multiples.
void add_minimal_pools(const Report& report, const Results& results, Table& table) {
    const auto found = [](const Result* r) { return r->minimal_pool_bytes.has_value(); };
    if (std::none_of(results.begin(), results.end(), found)) return;
    table.columns.push_back({"minimal pool", true});
    for (std::size_t i = 0; i < results.size(); ++i) {
        table.rows[i].push_back(minimal_pool_cell(*results[i], report.root_bytes));
    }
}

/// Appends the figures of pools that have grown, if one could.
void add_growth(const Results& results, std::vector<std::string>& keys) {
    const auto could = [](const Result* r) { return r->built.growth.has_value(); };
    if (std::ranges::any_of(results, could))
        keys.insert(keys.end(), {"pool_growths", "pool_grown_bytes"});
}

/// @param results all; `some` of them have an allocator
Table brief_table(const Report& report, const Results& results, const Results& some) {
    std::vector<std::string> keys{"ms_median", "slowdown", "memory_total_bytes"};
    if (!some.empty()) keys.insert(keys.end(), {"pool_multiple", "requests", "peak_live_bytes"});
    add_growth(some, keys);
    if (!trees_agree(report)) keys.emplace_back("digest");
    keys.emplace_back("outcome");
    Table table = result_table(report, results, "Build", keys, Depth::brief);
    add_minimal_pools(report, results, table);
    return table;
}

/// A figure that a build with statistics lacks is unknown.
Table fragmentation_table(const Report& report, const Results& results) {
    Table table =
        result_table(report, results, "Fragmentation",
                     {"internal_fragmentation", "external_fragmentation", "live_bytes_at_peak",
                      "allocated_bytes_at_peak", "internal_fragmentation_at_peak",
                      "external_fragmentation_at_peak"});
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i]->built.allocations) continue;
        for (Cell& cell : table.rows[i]) {
            if (cell.text == kNoValue) cell.text = "unknown";
        }
    }
    return table;
}

/// @param results all; `some` of them have an allocator
void add_details(const Report& report, const Results& results, const Results& some,
                 std::vector<Table>& all) {
    all.push_back(scene_table(report, !some.empty()));
    for (const Result& result : report.results) {
        if (!result.tree) continue;
        all.push_back(tree_table(report, result));
        // One tree stands for all, unless they differ: then the reader has to see how.
        if (trees_agree(report)) break;
    }
    std::vector<std::string> keys{"ms_median", "ms_min",  "ms_max", "slowdown",
                                  "upload_ms", "pool_ms", "warps"};
    if (report.provenance.machine.gpu) keys.insert(keys.end(), {"registers", "spill_bytes"});
    keys.emplace_back("outcome");
    all.push_back(result_table(report, results, "Times", keys));
    for (const Result& result : report.results) {
        if (result.built.profile) all.push_back(profile_table(report, result));
    }
    all.push_back(
        result_table(report, results, "Memory",
                     {"memory_total_bytes", "memory_pool_bytes", "memory_side_tables_bytes",
                      "memory_triangles_bytes", "memory_nodes_bytes", "memory_references_bytes",
                      "memory_large_nodes_bytes", "memory_stacks_bytes", "memory_queue_bytes",
                      "memory_levels_bytes", "memory_spare_bytes"}));
    if (some.empty()) return;
    std::vector<std::string> allocations{"pool_bytes",     "pool_multiple", "overhead_bytes",
                                         "requests",       "mean_bytes",    "deviation_bytes",
                                         "peak_live_bytes"};
    add_growth(some, allocations);
    all.push_back(result_table(report, some, "Allocations", allocations));
    add_minimal_pools(report, some, all.back());
    all.push_back(fragmentation_table(report, some));
    if (!report.provenance.machine.gpu) return;
    all.push_back(registers_table(report.results));
    all.back().depth = Depth::detailed;
}

std::vector<Remark> remarks(const Report& report) {
    std::vector<Remark> all;
    bool asterisk = false;
    bool compared = false;
    for (const Result& result : report.results) {
        asterisk = asterisk || !result.allocator.full;
        compared = compared || slowdown(report, result);
        if (result.outcome != Outcome::done) {
            all.push_back({std::string(result.allocator.name) + ": " + result.message});
        }
    }
    if (!trees_agree(report)) {
        all.push_back(
            {"THE TREES DIFFER. They must be equal bit for bit for every allocator: "
             "one of them handed out memory twice or lost it.",
             true});
    }
    if (const Result* r = first_tree(report); r != nullptr) {
        if (r->built.depth_limit) {
            all.push_back(overlap_remark(*r->built.depth_limit, report.options.config));
        }
        const auto undivided =
            undivided_remark(r->tree->quality.P, report.triangles, report.options.config);
        if (undivided) all.push_back(*undivided);
    }
    if (asterisk) all.push_back({kAsteriskRemark});
    all.push_back({compared
                       ? "slowdown: of T_build, over atomicmalloc on the same scene."
                       : "To compare: --allocator atomicmalloc,hybrid builds with both; 'heapwood "
                         "compare SCENE' with all.",
                   false, Depth::brief});
    all.push_back({"More: --details, --json FILE, --html FILE.", false, Depth::brief});
    return all;
}

const Shape<Report>& build_shape() {
    static const Shape<Report> shape = [] {
        Shape<BuildOf> result;
        result.all_of(build_figures(), [](const BuildOf& b) { return b; })
            .amend("outcome", one_of(outcome_names(of_build)))
            .object(
                "frames", frames_shape(), [](const BuildOf& b) { return b.result.frames; },
                "builds of the frames of an animation by one builder, if --frames was given")
            .newer();
        Shape<Report> all;
        const auto itself = [](const Report& r) -> const Report& { return r; };
        all.constant("schema", kSchema)
            .object("provenance", provenance_shape(), itself, "where the figures come from")
            .object("scene", scene_shape(), itself)
            .array(
                "results", result,
                [](const Report& r) {
                    std::vector<BuildOf> builds;
                    for (const Result& one : r.results) builds.push_back({r, one});
                    return builds;
                },
                "one per allocator, in the order asked for", 1);
        return all;
    }();
    return shape;
}

}  // namespace

Document document_of(const Report& report) {
    Results all;
    Results with_allocator;
    for (const Result& result : report.results) {
        all.push_back(&result);
        if (result.method == Method::single) with_allocator.push_back(&result);
    }
    Document document{.title = "heapwood build",
                      .tables = {summary_table(report, !with_allocator.empty()),
                                 brief_table(report, all, with_allocator)},
                      .plots = {slowdown_plot(report, "Times", report.scene_path)},
                      .remarks = remarks(report)};
    if (Table frames = frames_table(report); !frames.rows.empty()) {
        document.tables.push_back(std::move(frames));
    }
    add_details(report, all, with_allocator, document.tables);
    add_heap_maps(report, report.scene_path, document);
    for (const Result& result : report.results) {
        add_record(document.records, build_record(report, result));
    }
    document.data = build_shape().json(report);
    return document;
}

Json build_schema() {
    return document_schema("Heapwood's report of a build (heapwood build --json)", build_shape());
}

}  // namespace heapwood::app
