#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/report/comparison_printers.h"
#include "app/report/register_table.h"
#include "app/report/sections.h"
#include "app/report/table.h"

namespace heapwood::app {
namespace {

const std::vector<Result>& first_results(const Comparison& comparison) {
    return comparison.groups.front().report.results;
}

const Group& group_of(const Comparison& comparison, std::size_t scene, std::size_t pool) {
    return comparison.groups[scene * comparison.pools.size() + pool];
}

/// The scenes' names, short where they stay different: bunny for models/bunny.obj.xz.
std::vector<std::string> scene_names(const Comparison& comparison) {
    std::vector<std::string> names;
    std::set<std::string> different;
    for (const Report& scene : comparison.scenes) {
        std::string stem = scene.scene_path;
        if (stem.compare(0, 4, "gen:") != 0) stem = std::filesystem::path(stem).filename().string();
        names.push_back(stem.substr(0, stem.find(".obj")));
        different.insert(names.back());
    }
    if (different.size() == names.size()) return names;
    names.clear();
    for (const Report& scene : comparison.scenes) names.push_back(scene.scene_path);
    return names;
}

using Cell = std::function<std::string(const Group&, const Result&)>;

/// That cell where the build is done, else what became of it.
Cell if_done(const Cell& cell) {
    return [cell](const Group& group, const Result& r) {
        return r.outcome == Outcome::done ? cell(group, r) : word(r.outcome);
    };
}

/// A row for every allocator and a column for every scene.
Table matrix(const Comparison& comparison, std::size_t pool, const std::string& title,
             const Cell& cell) {
    Table table{.title = title, .columns = {{"allocator"}}, .rows = {}};
    const std::vector<std::string> names = scene_names(comparison);
    for (const std::string& name : names) table.columns.push_back({name, true});
    for (std::size_t a = 0; a < first_results(comparison).size(); ++a) {
        table.rows.push_back({starred(first_results(comparison)[a])});
        for (std::size_t scene = 0; scene < names.size(); ++scene) {
            const Group& group = group_of(comparison, scene, pool);
            table.rows.back().push_back(cell(group, group.report.results[a]));
        }
    }
    return table;
}

Table run_table(const Comparison& comparison) {
    const Report& c = comparison.common;
    Table table{.title = "Comparison", .columns = {{""}, {""}}, .rows = {}};
    table.rows = {
        {"device", c.machine.text()},
        {"version", version_line()},
        {"times", "median of " + std::to_string(c.run.repeat) + " builds, each after " +
                      std::to_string(c.run.warm_up) + " untimed ones; the allocators take turns"},
        {"arrays", std::string(c.configuration.small_arrays ? "every" : "large") + ", clipping " +
                       (c.configuration.clip ? "on" : "off") + ", preset " + c.preset}};
    return table;
}

/// The result whose figures stand for all: of a full allocator, if any is done, for the others may
/// ask for both children's arrays at once.
const Result* typical(const Comparison& comparison, std::size_t scene) {
    const Result* found = nullptr;
    for (const Group& group : comparison.groups) {
        if (group.scene != scene) continue;
        for (const Result& r : group.report.results) {
            if (r.outcome != Outcome::done) continue;
            if (found == nullptr || (!found->allocations && r.allocations) ||
                (!found->allocator.full && r.allocator.full && r.allocations)) {
                found = &r;
            }
        }
    }
    return found;
}

Table scene_table(const Comparison& comparison) {
    Table table{.title = "Scenes",
                .columns = {{"scene"},
                            {"N_tris", true},
                            {"N_ref", true},
                            {"N_alloc", true},
                            {"mean B", true},
                            {"deviation B", true},
                            {"peak live", true},
                            {"SAH(1, 1.5)", true},
                            {"tree"}},
                .rows = {}};
    const std::vector<std::string> names = scene_names(comparison);
    for (std::size_t scene = 0; scene < names.size(); ++scene) {
        std::vector<std::string> row(table.columns.size(), kNoValue);
        row[0] = names[scene];
        row[1] = grouped(comparison.scenes[scene].triangles);
        if (const Result* r = typical(comparison, scene)) {
            row[2] = fixed(r->tree->quality.references_per_triangle, 2);
            if (r->allocations) {
                row[3] = grouped(r->allocations->requests);
                row[4] = fixed(r->allocations->mean_bytes, 1);
                row[5] = fixed(r->allocations->deviation_bytes, 1);
                row[6] = bytes_text(r->allocations->peak_live_bytes);
            }
            row[7] = fixed(r->tree->sah_1_1_5, 2);
            row[8] = hex(r->tree->digest);
        }
        table.rows.push_back(row);
    }
    return table;
}

/// The papers' table: T_build of atomicmalloc, slowdown of the others.
Table time_table(const Comparison& comparison, std::size_t pool) {
    Table table =
        matrix(comparison, pool,
               "Pool " + comparison.pools[pool] +
                   ": T_build of atomicmalloc in ms, slowdown of the others",
               if_done([](const Group& group, const Result& r) {
                   const std::optional<double> factor = slowdown(group.report, r);
                   const bool reference = std::string_view(r.allocator.name) == "atomicmalloc";
                   if (reference || !factor) return fixed(spread(r.samples).median, 3) + " ms";
                   return fixed(*factor, 2) + "x" + (group.baseline_pool == group.pool ? "" : "'");
               }));
    for (std::size_t scene = 0; scene < comparison.scenes.size(); ++scene) {
        const std::optional<std::size_t> best = fastest_full(group_of(comparison, scene, pool));
        if (best) table.strong.emplace_back(*best, scene + 1);
    }
    return table;
}

std::string per_cent(double fraction) {
    return fraction < 0 ? "unknown" : fixed(100 * fraction, 1);
}

void add_memory_tables(const Comparison& comparison, std::size_t pool, std::vector<Table>& all) {
    const std::string in = "Pool " + comparison.pools[pool] + ": ";
    const auto none = [](const Result& r) { return r.method != Method::single || !r.allocations; };
    const auto add = [&](const std::string& title, const Cell& cell) {
        all.push_back(
            matrix(comparison, pool, in + title, if_done([&](const Group& group, const Result& r) {
                       return none(r) ? kNoValue : cell(group, r);
                   })));
    };
    if (comparison.common.run.statistics) {
        add("fragmentation after the build in %, internal / external",
            [](const Group&, const Result& r) {
                return per_cent(r.allocations->internal_fragmentation) + " / " +
                       per_cent(r.external_fragmentation.value_or(-1));
            });
        add("fragmentation at the peak in %, internal / external",
            [](const Group&, const Result& r) {
                const allocators::PeakUse peak = r.peak.value_or(allocators::PeakUse{});
                return per_cent(peak.internal_fragmentation) + " / " +
                       per_cent(peak.external_fragmentation);
            });
        add("allocated of the pool at the peak", [](const Group&, const Result& r) {
            return r.peak ? bytes_text(r.peak->allocated_bytes) : "unknown";
        });
    }
    all.push_back(matrix(
        comparison, pool, in + "pool and side tables", if_done([](const Group&, const Result& r) {
            return r.method != Method::single
                       ? kNoValue
                       : bytes_text(r.pool_bytes) + " + " + bytes_text(r.overhead_bytes);
        })));
}

/// The smallest pool is the same whatever pool it was searched from: the first that knows it.
Table minimal_pool_table(const Comparison& comparison) {
    return matrix(comparison, 0, "Minimal pool", [&](const Group& group, const Result& r) {
        for (const Group& other : comparison.groups) {
            if (other.scene != group.scene) continue;
            for (const Result& same : other.report.results) {
                if (same.allocator.name != r.allocator.name || !same.minimal_pool_bytes) continue;
                return bytes_text(*same.minimal_pool_bytes) + ", " +
                       fixed(static_cast<double>(*same.minimal_pool_bytes) /
                                 static_cast<double>(group.report.root_bytes),
                             2) +
                       "x";
            }
        }
        return std::string(kNoValue);
    });
}

std::vector<Table> sections(const Comparison& comparison) {
    std::vector<Table> all{run_table(comparison), scene_table(comparison)};
    for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
        all.push_back(time_table(comparison, pool));
    }
    if (comparison.common.machine.gpu) {
        all.push_back(registers_table());
        for (const Result& r : first_results(comparison)) {
            if (r.method != Method::single) continue;
            all.back().rows.push_back(registers_row(starred(r), r.allocator, r.kernels));
        }
    }
    for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
        add_memory_tables(comparison, pool, all);
    }
    if (comparison.minimal_pool) all.push_back(minimal_pool_table(comparison));
    return all;
}

/// What marks mean, and why cells have no figures. `strong`: how strong cells look.
std::vector<std::string> remarks(const Comparison& comparison, const std::string& strong) {
    std::vector<std::string> all;
    std::set<std::string> marks;
    if (comparison.common.run.statistics) {
        marks.insert(
            "N_alloc to peak live: of the first full allocator that is done; others may "
            "ask for the arrays of both children at once.");
    }
    const std::vector<std::string> names = scene_names(comparison);
    for (const Group& group : comparison.groups) {
        for (const Result& r : group.report.results) {
            if (!r.message.empty()) {
                all.push_back(names[group.scene] + ", pool " + group.pool + ", " +
                              r.allocator.name + ": " + r.message);
            }
            if (!r.allocator.full) marks.insert(kAsteriskRemark);
            if (group.baseline_pool != group.pool && slowdown(group.report, r)) {
                marks.insert(
                    "': over atomicmalloc with another pool of the same run, for with this "
                    "one it failed.");
            }
        }
        if (fastest_full(group)) marks.insert(strong + ": the scene's fastest full allocator.");
    }
    if (!complete(comparison)) {
        all.emplace_back(
            "THE COMPARISON IS NOT COMPLETE: unfinished cells had not all their turns.");
    }
    all.insert(all.end(), marks.begin(), marks.end());
    return all;
}

}  // namespace

std::string as_text(const Comparison& comparison, bool colour) {
    std::string text;
    for (const Table& table : sections(comparison)) text += as_text(table, colour) + "\n";
    for (const std::string& remark : remarks(comparison, "[ ]")) text += remark + "\n";
    return text;
}

std::string as_markdown(const Comparison& comparison) {
    std::string text;
    for (const Table& table : sections(comparison)) text += as_markdown(table) + "\n";
    for (const std::string& remark : remarks(comparison, "bold")) {
        text += markdown_escaped(remark) + "\n\n";
    }
    return text;
}

std::string as_latex(const Comparison& comparison) {
    std::string text;
    for (const Table& table : sections(comparison)) text += as_latex(table) + "\n";
    for (const std::string& remark : remarks(comparison, "bold"))
        text += latex_escaped(remark) + "\n\n";
    return text;
}

}  // namespace heapwood::app
