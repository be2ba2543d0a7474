#include "app/report/sections.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/base/text.h"
#include "app/report/printers.h"
#include "app/report/register_table.h"

namespace heapwood::app {
namespace {

std::string vector_text(const glm::vec3& v) {
    return "(" + shortest(v.x) + ", " + shortest(v.y) + ", " + shortest(v.z) + ")";
}

std::string milliseconds(double ms) {
    return fixed(ms, 3);
}

/// A fraction as a percentage; negative: unknown.
std::string percent(double fraction) {
    return fraction < 0 ? "unknown" : fixed(100 * fraction, 1) + " %";
}

/// How many times the root node's array.
std::string multiple(double times) {
    return shortest(std::stod(fixed(times, 2))) + "x";
}

/// Whether the single kernel, and so an allocator, has been at work.
bool has_single(const Report& report) {
    return std::any_of(report.results.begin(), report.results.end(),
                       [](const Result& r) { return r.method == Method::single; });
}

Table scene_table(const Report& report) {
    const kdtree::BuildConfig& c = report.configuration;
    Table table{.title = "Scene", .columns = {{""}, {""}}, .rows = {}};
    table.rows = {
        {"scene", report.scene_path},
        {"N_tris", grouped(report.triangles) + " (" + grouped(report.degenerate) +
                       " of zero area), " + grouped(report.vertices) + " vertices"},
        {"bounds", vector_text(report.bounds.lo) + " to " + vector_text(report.bounds.hi)},
        {"device", report.machine.text()},
        {"arrays",
         std::string(!has_single(report) ? "of whole levels (no allocator)"
                     : c.small_arrays
                         ? "every (each child's array comes from the allocator)"
                         : "large (those of small nodes do not come from the allocator)") +
             ", clipping " + (c.clip ? "on" : "off") + ", preset " + report.preset}};
    return table;
}

Table tree_table(const Report& report, const Result& result) {
    const TreeFacts& tree = *result.tree;
    const kdtree::Quality& q = tree.quality;
    const kdtree::BuildConfig& c = report.configuration;
    const std::string own =
        "SAH(" + shortest(c.traversal_cost) + ", " + shortest(c.intersection_cost) + ")";
    Table table{.title = trees_agree(report) ? std::string("Tree")
                                             : "Tree of " + std::string(result.allocator.name),
                .columns = {{""}, {"", true}, {""}},
                .rows = {}};
    table.rows = {{"nodes", grouped(q.nodes), ""},
                  {"leaves", grouped(q.leaves), grouped(q.empty_leaves) + " of them empty"},
                  {"N_ref", fixed(q.references_per_triangle, 3),
                   "references from leaves per triangle, " + grouped(q.references) + " in all"},
                  {"depth", grouped(q.max_depth), "of the deepest leaf"},
                  {"largest leaf", grouped(q.largest_leaf), "references"},
                  {"I", fixed(q.I, 3), "inner nodes that a random ray visits"},
                  {"L", fixed(q.L, 3), "leaves that it visits"},
                  {"P", fixed(q.P, 3), "triangles that it tests"},
                  {"SAH(1, 1.5)", fixed(tree.sah_1_1_5, 3), "I + 1.5 P"}};
    if (own != "SAH(1, 1.5)") {
        table.rows.push_back({own, fixed(tree.sah, 3), "by the build's own costs"});
    }
    table.rows.push_back({"digest", hex(tree.digest), tree.verified ? "verified" : "not verified"});
    return table;
}

Table time_table(const Report& report) {
    Table table{.title = "Build",
                .columns = {{"allocator"},
                            {"T_build ms", true},
                            {"min", true},
                            {"max", true},
                            {"slowdown", true},
                            {"upload ms", true},
                            {"pool ms", true},
                            {report.machine.gpu ? "warps" : "threads", true},
                            {"registers", true},
                            {"local memory", true},
                            {"outcome"}},
                .rows = {}};
    for (const Result& r : report.results) {
        std::vector<std::string> row(table.columns.size(), kNoValue);
        row.front() = starred(r);
        row.back() = name(r.outcome);
        if (!r.samples.empty()) {
            const Spread ms = spread(r.samples);
            const std::optional<double> factor = slowdown(report, r);
            row[1] = milliseconds(ms.median);
            row[2] = milliseconds(ms.min);
            row[3] = milliseconds(ms.max);
            row[4] = factor ? fixed(*factor, 2) + "x" : kNoValue;
            row[5] = report.machine.gpu ? milliseconds(r.upload_ms) : kNoValue;
            row[6] = milliseconds(r.pool_ms);
            if (r.warps > 0) row[7] = grouped(r.warps);
            if (report.machine.gpu && r.method == Method::single) {
                row[8] = grouped(r.registers);
                row[9] = bytes_text(r.spill_bytes);
            }
        }
        table.rows.push_back(row);
    }
    return table;
}

Table allocation_table(const Report& report) {
    Table table{.title = "Allocations",
                .columns = {{"allocator"},
                            {"pool", true},
                            {"multiple", true},
                            {"side tables", true},
                            {"N_alloc", true},
                            {"mean B", true},
                            {"deviation B", true},
                            {"peak live", true}},
                .rows = {}};
    if (std::any_of(report.results.begin(), report.results.end(),
                    [](const Result& r) { return r.minimal_pool_bytes.has_value(); })) {
        table.columns.push_back({"minimal pool", true});
    }
    for (const Result& r : report.results) {
        if (r.method != Method::single) continue;
        std::vector<std::string> row(table.columns.size(), kNoValue);
        row[0] = starred(r);
        row[1] = bytes_text(r.pool_bytes);
        row[2] = multiple(r.pool_multiple);
        if (!r.samples.empty()) row[3] = bytes_text(r.overhead_bytes);
        if (r.allocations) {
            const allocators::Statistics& s = *r.allocations;
            row[4] = grouped(s.requests);
            row[5] = fixed(s.mean_bytes, 1);
            row[6] = fixed(s.deviation_bytes, 1);
            row[7] = bytes_text(s.peak_live_bytes);
        }
        if (r.minimal_pool_bytes) {
            row[8] = bytes_text(*r.minimal_pool_bytes) + " (" +
                     multiple(static_cast<double>(*r.minimal_pool_bytes) /
                              static_cast<double>(report.root_bytes)) +
                     ")";
        }
        table.rows.push_back(row);
    }
    return table;
}

/// Where a build has no such array: no value.
Table memory_table(const Report& report) {
    using Memory = kdtree::MemoryUse;
    constexpr std::pair<const char*, std::uint64_t Memory::*> kParts[] = {
        {"pool", &Memory::pool},
        {"side tables", &Memory::side_tables},
        {"triangles", &Memory::triangles},
        {"nodes", &Memory::nodes},
        {"references", &Memory::references},
        {"jobs", &Memory::jobs},
        {"stacks", &Memory::stacks},
        {"queue", &Memory::queue},
        {"levels", &Memory::levels},
        {"spare", &Memory::spare}};
    Table table{.title = "Memory", .columns = {{"allocator"}, {"total", true}}, .rows = {}};
    for (const auto& [name, part] : kParts) table.columns.push_back({name, true});
    for (const Result& r : report.results) {
        std::vector<std::string> row(table.columns.size(), kNoValue);
        row[0] = starred(r);
        if (!r.samples.empty()) {
            row[1] = bytes_text(r.memory.total());
            for (std::size_t i = 0; i < std::size(kParts); ++i) {
                const std::uint64_t bytes = r.memory.*kParts[i].second;
                if (bytes > 0) row[i + 2] = bytes_text(bytes);
            }
        }
        table.rows.push_back(row);
    }
    return table;
}

Table fragmentation_table(const Report& report) {
    Table table{.title = "Fragmentation",
                .columns = {{"allocator"},
                            {"internal", true},
                            {"external", true},
                            {"peak: live", true},
                            {"peak: allocated", true},
                            {"peak: internal", true},
                            {"peak: external", true}},
                .rows = {}};
    for (const Result& r : report.results) {
        if (r.method != Method::single) continue;
        std::vector<std::string> row(table.columns.size(), kNoValue);
        row[0] = starred(r);
        if (!r.samples.empty()) row[2] = percent(r.external_fragmentation.value_or(-1));
        if (r.allocations) {
            row[1] = percent(r.allocations->internal_fragmentation);
            const allocators::PeakUse peak = r.peak.value_or(allocators::PeakUse{});
            row[3] = r.peak ? bytes_text(peak.live_bytes) : "unknown";
            row[4] = r.peak ? bytes_text(peak.allocated_bytes) : "unknown";
            row[5] = percent(peak.internal_fragmentation);
            row[6] = percent(peak.external_fragmentation);
        }
        table.rows.push_back(row);
    }
    return table;
}

/// Where the time of a build went. The floor: bytes that a build streams at least if every level of
/// nodes above the exact limit is read and written once, and all triangles once.
Table profile_table(const Report& report, const Result& r) {
    const kdtree::BuildProfile& profile = *r.profile;
    Table table{.title = "Profile of " + std::string(r.allocator.name) + " (slowed by counting)",
                .columns = {{""}, {"", true}, {""}},
                .rows = {}};
    double all = 0;
    for (const double ms : profile.warp_ms) all += ms;
    for (unsigned i = 0; i < kdtree::kPhases; ++i) {
        table.rows.push_back(
            {kdtree::kPhaseNames[i], percent(profile.warp_ms[i] / all), "of the warps' time"});
    }
    double busy = 0;
    for (const double warps : profile.busy_warps) busy = std::max(busy, warps);
    const auto full =
        static_cast<std::size_t>(std::count_if(profile.busy_warps.begin(), profile.busy_warps.end(),
                                               [&](double warps) { return warps > 0.9 * busy; }));
    table.rows.push_back({"busy", milliseconds(profile.interval_ms * static_cast<double>(full)),
                          "ms in which nine of ten warps were"});
    const auto triangles = static_cast<double>(report.triangles);
    static constexpr const char* kSizes[] = {"small", "medium", "large"};
    for (unsigned i = 0; i < profile.divided.size(); ++i) {
        table.rows.push_back({std::string("divided, ") + kSizes[i],
                              fixed(static_cast<double>(profile.divided[i]) / triangles, 1),
                              "references of such nodes per triangle"});
    }
    const double bytes =
        64 * static_cast<double>(profile.divided[1] + profile.divided[2]) + 100 * triangles;
    const double floor_ms = bytes / 3e9;
    table.rows.push_back({"floor", milliseconds(floor_ms),
                          "ms to stream " + fixed(bytes / 1e6, 0) + " MB at 3 TB/s"});
    table.rows.push_back(
        {"T_build", fixed(spread(r.samples).median / floor_ms, 1) + "x", "of that"});
    return table;
}

Table kernels_table(const Report& report) {
    Table table = registers_table();
    for (const Result& r : report.results) {
        if (r.method != Method::single) continue;
        table.rows.push_back(registers_row(starred(r), r.allocator, r.kernels));
    }
    return table;
}

}  // namespace

std::string starred(const Result& result) {
    return std::string(result.allocator.name) + (result.allocator.full ? "" : "*");
}

std::vector<Table> sections(const Report& report) {
    std::vector<Table> all{scene_table(report)};
    for (const Result& result : report.results) {
        if (!result.tree) continue;
        all.push_back(tree_table(report, result));
        // One tree stands for all, unless they differ: then everyone has to see how.
        if (trees_agree(report)) break;
    }
    all.push_back(time_table(report));
    for (const Result& result : report.results) {
        if (result.profile) all.push_back(profile_table(report, result));
    }
    all.push_back(memory_table(report));
    if (has_single(report)) {
        all.push_back(allocation_table(report));
        all.push_back(fragmentation_table(report));
        if (report.machine.gpu) all.push_back(kernels_table(report));
    }
    return all;
}

std::vector<std::string> remarks(const Report& report) {
    std::vector<std::string> all;
    bool asterisk = false;
    for (const Result& result : report.results) {
        asterisk = asterisk || !result.allocator.full;
        if (result.outcome != Outcome::done) {
            all.push_back(std::string(result.allocator.name) + ": " + result.message);
        }
    }
    if (!trees_agree(report)) {
        all.emplace_back(
            "THE TREES DIFFER. They must be equal bit for bit for every allocator: "
            "one of them handed out memory twice or lost it.");
    }
    if (asterisk) all.emplace_back(kAsteriskRemark);
    return all;
}

std::string as_text(const Report& report, bool colour) {
    std::string text;
    for (const Table& table : sections(report)) text += as_text(table, colour) + "\n";
    for (const std::string& remark : remarks(report)) text += remark + "\n";
    return text;
}

}  // namespace heapwood::app
