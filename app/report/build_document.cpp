#include "app/report/build_document.h"

#include <algorithm>
#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/build_figures.h"
#include "app/measure/result_json.h"
#include "app/report/build_records.h"
#include "app/report/cells.h"
#include "app/report/register_table.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/report.schema.json; a reader may rely on it.
constexpr int kBuildSchema = 1;

using Results = std::vector<const Result*>;

std::string vector_text(const glm::vec3& v) {
    return "(" + shortest(v.x) + ", " + shortest(v.y) + ", " + shortest(v.z) + ")";
}

/// A row for each of these results, and a column for each figure with that key (build_figures()).
Table figure_table(const Report& report, const Results& results, std::string title,
                   const std::vector<std::string>& keys) {
    Table table{.title = std::move(title), .columns = {{"allocator"}}};
    for (const std::string& key : keys) {
        const auto& figure = figure_of(build_figures(), key);
        const bool threads = key == "warps" && !report.machine.gpu;
        table.columns.push_back({threads ? "threads" : figure.title, figure.unit != Unit::word});
    }
    for (const Result* r : results) {
        table.rows.push_back({starred(r->allocator.name, r->allocator.full)});
        for (const std::string& key : keys) {
            const bool failed = key == "outcome" && r->outcome != Outcome::done;
            table.rows.back().push_back(failed ? failed_cell(r->outcome, r->message)
                                               : shown(value_of(build_figures(), key, {report, *r}),
                                                       figure_of(build_figures(), key).unit));
        }
    }
    return table;
}

std::string settings_text(const Report& report, bool allocators) {
    const kdtree::BuildConfig& c = report.configuration;
    return std::string(!allocators      ? "arrays of whole levels (no allocator)"
                       : c.small_arrays ? "every child's array comes from the allocator"
                                        : "the arrays of small nodes do not come from the "
                                          "allocator") +
           ", clipping " + (c.clip ? "on" : "off") + ", preset " + report.preset;
}

const Result* first_tree(const Report& report) {
    for (const Result& result : report.results) {
        if (result.tree) return &result;
    }
    return nullptr;
}

/// What is the same for all allocators, a line each.
Table summary_table(const Report& report, bool allocators) {
    Table table{.title = "", .columns = {{""}, {""}}, .depth = Depth::brief};
    table.rows = {{"scene", report.scene_path + ": " + grouped(report.triangles) + " triangles, " +
                                grouped(report.vertices) + " vertices"},
                  {"device", report.machine.text()},
                  {"settings", settings_text(report, allocators)}};
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

Table brief_table(const Report& report, const Results& results, bool allocators) {
    std::vector<std::string> keys{"ms_median", "slowdown", "memory_total_bytes"};
    if (allocators) keys.insert(keys.end(), {"pool_multiple", "requests", "peak_live_bytes"});
    if (!trees_agree(report)) keys.emplace_back("digest");
    keys.emplace_back("outcome");
    Table table = figure_table(report, results, "Build", keys);
    table.depth = Depth::brief;
    return table;
}

Table scene_table(const Report& report, bool allocators) {
    return {
        .title = "Scene",
        .columns = {{""}, {""}},
        .rows = {{"scene", report.scene_path},
                 {"N_tris", grouped(report.triangles) + " (" + grouped(report.degenerate) +
                                " of zero area), " + grouped(report.vertices) + " vertices"},
                 {"bounds", vector_text(report.bounds.lo) + " to " + vector_text(report.bounds.hi)},
                 {"device", report.machine.text()},
                 {"settings", settings_text(report, allocators)}},
        .depth = Depth::detailed};
}

Table tree_table(const Report& report, const Result& result) {
    static const std::vector<std::pair<const char*, const char*>> kRows{
        {"nodes", "inner nodes and leaves"},
        {"leaves", ""},
        {"empty_leaves", ""},
        {"references", "from leaves"},
        {"references_per_triangle", "references per triangle"},
        {"max_depth", "of the deepest leaf"},
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
        const auto& figure = figure_of(build_figures(), key);
        table.rows.push_back({figure.title,
                              shown(value_of(build_figures(), key, {report, result}), figure.unit),
                              meaning});
    }
    return table;
}

/// Pools and requests; the smallest pools in bytes and as multiples, if they were asked for.
Table allocation_table(const Report& report, const Results& results) {
    Table table = figure_table(report, results, "Allocations",
                               {"pool_bytes", "pool_multiple", "overhead_bytes", "requests",
                                "mean_bytes", "deviation_bytes", "peak_live_bytes"});
    const auto found = [](const Result* r) { return r->minimal_pool_bytes.has_value(); };
    if (std::none_of(results.begin(), results.end(), found)) return table;
    table.columns.push_back({"minimal pool", true});
    for (std::size_t i = 0; i < results.size(); ++i) {
        table.rows[i].push_back(minimal_pool_cell(*results[i], report.root_bytes));
    }
    return table;
}

/// A figure that a build with statistics lacks is unknown.
Table fragmentation_table(const Report& report, const Results& results) {
    Table table =
        figure_table(report, results, "Fragmentation",
                     {"internal_fragmentation", "external_fragmentation", "live_bytes_at_peak",
                      "allocated_bytes_at_peak", "internal_fragmentation_at_peak",
                      "external_fragmentation_at_peak"});
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i]->allocations) continue;
        for (Cell& cell : table.rows[i]) {
            if (cell.text == kNoValue) cell.text = "unknown";
        }
    }
    return table;
}

/// @param results all; `some` of them have an allocator
void add_details(const Report& report, const Results& results, const Results& some,
                 std::vector<Table>& all) {
    const auto add = [&all](Table table) {
        table.depth = Depth::detailed;
        all.push_back(std::move(table));
    };
    add(scene_table(report, !some.empty()));
    for (const Result& result : report.results) {
        if (!result.tree) continue;
        add(tree_table(report, result));
        // One tree stands for all, unless they differ: then the reader has to see how.
        if (trees_agree(report)) break;
    }
    std::vector<std::string> keys{"ms_median", "ms_min",  "ms_max", "slowdown",
                                  "upload_ms", "pool_ms", "warps"};
    if (report.machine.gpu) keys.insert(keys.end(), {"registers", "spill_bytes"});
    keys.emplace_back("outcome");
    add(figure_table(report, results, "Times", keys));
    for (const Result& result : report.results) {
        if (result.profile) add(profile_table(report, result));
    }
    add(figure_table(report, results, "Memory",
                     {"memory_total_bytes", "memory_pool_bytes", "memory_side_tables_bytes",
                      "memory_triangles_bytes", "memory_nodes_bytes", "memory_references_bytes",
                      "memory_jobs_bytes", "memory_stacks_bytes", "memory_queue_bytes",
                      "memory_levels_bytes", "memory_spare_bytes"}));
    if (some.empty()) return;
    add(allocation_table(report, some));
    add(fragmentation_table(report, some));
    if (!report.machine.gpu) return;
    Table registers = registers_table();
    for (const Result* r : some) {
        registers.rows.push_back(
            registers_row(starred(r->allocator.name, r->allocator.full), r->allocator, r->kernels));
    }
    add(registers);
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
    if (asterisk) all.push_back({kAsteriskRemark});
    all.push_back({compared
                       ? "slowdown: of T_build, over atomicmalloc on the same scene."
                       : "To compare: --allocator atomicmalloc,hybrid builds with both; 'heapwood "
                         "compare SCENE' with all.",
                   false, Depth::brief});
    all.push_back({"More: --details, --json FILE, --html FILE.", false, Depth::brief});
    return all;
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
                                 brief_table(report, all, !with_allocator.empty())}};
    add_details(report, all, with_allocator, document.tables);
    document.plots = {slowdown_plot(report, "Times", report.scene_path)};
    document.remarks = remarks(report);
    Json results = Json::array();
    for (const Result& result : report.results) {
        results.push_back(result_json(report, result));
        add_record(document.records, build_record(report, result));
    }
    document.data = {{"schema", kBuildSchema},
                     {"provenance", provenance_json(report)},
                     {"scene", scene_json(report)},
                     {"results", results}};
    return document;
}

}  // namespace heapwood::app
