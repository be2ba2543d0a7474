#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/report/comparison_printers.h"
#include "app/report/printers.h"
#include "app/report/table.h"

namespace heapwood::app {
namespace {

/// A cell, in quotes where RFC 4180 wants them.
std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == text.npos) return text;
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"') result += '"';
        result += c;
    }
    return result + "\"";
}

std::string text(std::uint64_t value) {
    return std::to_string(value);
}

std::string text(double value) {
    return shortest(value);
}

/// A row under construction, as (heading, cell) so that the two cannot go out of step.
using Row = std::vector<std::pair<std::string, std::string>>;

Row row(const Report& report, const Result& r) {
    Row cells{{"scene", report.scene_path},
              {"triangles", text(report.triangles)},
              {"scene_digest", hex(report.scene_digest)},
              {"device", report.machine.gpu ? "gpu" : "cpu"},
              {"device_name", report.machine.name},
              {"version", version().version},
              {"git", version().git},
              {"host_pool", keeps_memory(report) ? "on" : "off"},
              {"method", name(r.method)},
              {"allocator", r.allocator.name},
              {"arrays", r.method != Method::single          ? ""
                         : report.configuration.small_arrays ? "every"
                                                             : "large"},
              {"outcome", name(r.outcome)},
              {"message", r.message},
              {"pool_bytes", text(r.pool_bytes)},
              {"pool_multiple", text(r.pool_multiple)}};
    // Appends the cell, or an empty one if there is no figure.
    const auto add = [&cells](const std::string& heading, bool known, const auto& value) {
        cells.emplace_back(heading, known ? text(value) : std::string());
    };
    const bool ran = !r.samples.empty();
    const bool gpu = ran && report.machine.gpu;
    const bool single = r.method == Method::single;
    const Spread ms = ran ? spread(r.samples) : Spread{};
    const std::optional<double> factor = slowdown(report, r);
    add("ms_median", ran, ms.median);
    add("ms_min", ran, ms.min);
    add("ms_max", ran, ms.max);
    add("slowdown", factor.has_value(), factor.value_or(0));
    add("upload_ms", gpu, r.upload_ms);
    add("pool_ms", ran, r.pool_ms);
    add("minimal_pool_bytes", r.minimal_pool_bytes.has_value(), r.minimal_pool_bytes.value_or(0));
    add("overhead_bytes", ran, r.overhead_bytes);
    const kdtree::MemoryUse& m = r.memory;
    add("memory_total_bytes", ran, m.total());
    add("memory_triangles_bytes", ran, m.triangles);
    add("memory_nodes_bytes", ran, m.nodes);
    add("memory_references_bytes", ran, m.references);
    add("memory_jobs_bytes", ran, m.jobs);
    add("memory_stacks_bytes", ran, m.stacks);
    add("memory_queue_bytes", ran, m.queue);
    add("memory_levels_bytes", ran, m.levels);
    add("memory_spare_bytes", ran, m.spare);
    add("warps", ran && r.warps > 0, std::uint64_t{r.warps});
    add("registers", gpu && single, std::uint64_t{r.registers});
    add("spill_bytes", gpu && single, std::uint64_t{r.spill_bytes});
    const Registers kernels = r.kernels.value_or(Registers{});
    const auto add_kernel = [&add](const std::string& prefix,
                                   const std::optional<KernelFigures>& kernel) {
        const KernelFigures k = kernel.value_or(KernelFigures{});
        add(prefix + "_registers", kernel.has_value(), std::uint64_t{k.registers});
        add(prefix + "_stack_bytes", kernel.has_value(), std::uint64_t{k.stack_bytes});
        add(prefix + "_spill_store_bytes", kernel.has_value(), std::uint64_t{k.spill_store_bytes});
        add(prefix + "_spill_load_bytes", kernel.has_value(), std::uint64_t{k.spill_load_bytes});
    };
    add_kernel("uncoalesced", kernels.uncoalesced);
    add_kernel("coalesced", kernels.coalesced);
    const allocators::PublishedRegisters& published = r.allocator.published_registers;
    add("published_uncoalesced_registers", published.uncoalesced > 0,
        std::uint64_t{published.uncoalesced});
    add("published_coalesced_registers", published.coalesced > 0,
        std::uint64_t{published.coalesced});

    const bool tree = r.tree.has_value();
    const TreeFacts facts = r.tree.value_or(TreeFacts{});
    const kdtree::Quality& q = facts.quality;
    add("nodes", tree, q.nodes);
    add("leaves", tree, q.leaves);
    add("empty_leaves", tree, q.empty_leaves);
    add("references", tree, q.references);
    add("references_per_triangle", tree, q.references_per_triangle);
    add("max_depth", tree, std::uint64_t{q.max_depth});
    add("largest_leaf", tree, std::uint64_t{q.largest_leaf});
    add("I", tree, q.I);
    add("L", tree, q.L);
    add("P", tree, q.P);
    add("sah", tree, facts.sah);
    add("sah_1_1_5", tree, facts.sah_1_1_5);
    cells.emplace_back("digest", tree ? hex(facts.digest) : "");

    const bool counted = r.allocations.has_value();
    const allocators::Statistics s = r.allocations.value_or(allocators::Statistics{});
    add("requests", counted, s.requests);
    add("frees", counted, s.frees);
    add("failed", counted, s.failed);
    add("mean_bytes", counted, s.mean_bytes);
    add("deviation_bytes", counted, s.deviation_bytes);
    add("peak_live_bytes", counted, s.peak_live_bytes);
    add("internal_fragmentation", counted && s.internal_fragmentation >= 0,
        s.internal_fragmentation);
    add("external_fragmentation", r.external_fragmentation.has_value(),
        r.external_fragmentation.value_or(0));
    const allocators::PeakUse peak = r.peak.value_or(allocators::PeakUse{});
    add("live_bytes_at_peak", r.peak.has_value(), peak.live_bytes);
    add("allocated_bytes_at_peak", r.peak.has_value(), peak.allocated_bytes);
    add("internal_fragmentation_at_peak", peak.internal_fragmentation >= 0,
        peak.internal_fragmentation);
    add("external_fragmentation_at_peak", peak.external_fragmentation >= 0,
        peak.external_fragmentation);
    return cells;
}

/// All rows of a table have the same headings.
void add_row(Table& table, const Row& cells) {
    table.columns.clear();
    table.rows.emplace_back();
    for (const auto& [heading, cell] : cells) {
        table.columns.push_back({heading});
        table.rows.back().push_back(cell);
    }
}

}  // namespace

std::string as_csv(const Table& table) {
    std::string lines;
    const auto append = [&lines](bool first, const std::string& cell) {
        lines += (first ? "" : ",") + quoted(cell);
    };
    for (std::size_t i = 0; i < table.columns.size(); ++i) append(i == 0, table.columns[i].title);
    lines += "\n";
    for (const auto& cells : table.rows) {
        for (std::size_t i = 0; i < cells.size(); ++i) append(i == 0, cells[i]);
        lines += "\n";
    }
    return lines;
}

std::string as_csv(const Report& report) {
    Table table;
    for (const Result& result : report.results) add_row(table, row(report, result));
    return as_csv(table);
}

std::string as_csv(const Comparison& comparison) {
    Table table;
    for (const Group& group : comparison.groups) {
        const std::optional<std::size_t> fastest = fastest_full(group);
        for (std::size_t i = 0; i < group.report.results.size(); ++i) {
            Row cells = row(group.report, group.report.results[i]);
            cells.insert(cells.begin() + 1, {"pool", group.pool});
            cells.emplace_back("fastest_full", fastest == i ? "true" : "false");
            cells.emplace_back("baseline_pool", group.baseline_pool);
            add_row(table, cells);
        }
    }
    return as_csv(table);
}

}  // namespace heapwood::app
