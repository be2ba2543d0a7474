#include <filesystem>
#include <functional>
#include <set>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_figures.h"
#include "app/measure/builds/build_parts.h"
#include "app/measure/builds/comparison_parts.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

const std::vector<Result>& first_results(const Comparison& comparison) {
    return comparison.groups.front().report.results;
}

using CellOf = std::function<Cell(const Group&, const Result&)>;

/// A row for every allocator and a column for every scene.
Table matrix(const Comparison& comparison, std::size_t pool, const std::string& title,
             const CellOf& cell) {
    Table table{.title = title, .columns = {{"allocator"}}};
    const std::vector<std::string> names = scene_names(comparison);
    for (const std::string& name : names) table.columns.push_back({name, true});
    for (std::size_t a = 0; a < first_results(comparison).size(); ++a) {
        const allocators::Traits& allocator = first_results(comparison)[a].allocator;
        auto& row = table.rows.emplace_back();
        row.emplace_back(starred(allocator.name, allocator.full));
        for (std::size_t scene = 0; scene < names.size(); ++scene) {
            const Group& group = group_of(comparison, scene, pool);
            row.push_back(cell(group, group.report.results[a]));
        }
    }
    return table;
}

/// The same with that cell where the build is done, else with what became of it.
Table matrix_of_done(const Comparison& comparison, std::size_t pool, const std::string& title,
                     const CellOf& cell) {
    return matrix(comparison, pool, title, [&](const Group& group, const Result& r) {
        return r.outcome == Outcome::done ? cell(group, r) : failed_cell(r.outcome, r.message);
    });
}

Table run_table(const Comparison& comparison) {
    const Report& c = comparison.common;
    const std::string untimed = std::to_string(c.options.run.warm_up) + " untimed " +
                                (c.options.run.warm_up == 1 ? "one" : "ones");
    return facts_table(
        "Comparison",
        {{"device", c.provenance.machine.text()},
         {"version", version_line()},
         {"times", "median of " + std::to_string(c.options.run.repeat) + " builds, each after " +
                       untimed + "; the allocators take turns"},
         {"arrays", std::string(c.options.config.small_arrays ? "every" : "large") + ", clipping " +
                        (c.options.config.clip ? "on" : "off") + ", preset " + c.options.preset}});
}

Table scene_table(const Comparison& comparison) {
    std::vector<FigureRow<BuildOf>> rows;
    const std::vector<std::string> names = scene_names(comparison);
    for (std::size_t scene = 0; scene < names.size(); ++scene) {
        auto& row = rows.emplace_back(FigureRow<BuildOf>{names[scene], std::nullopt});
        const Result* r = typical(comparison, scene);
        if (r != nullptr) row.of.emplace(BuildOf{comparison.scenes[scene], *r});
    }
    Table table = figure_table(build_figures(), "Scenes", rows,
                               {"references_per_triangle", "requests", "mean_bytes",
                                "deviation_bytes", "peak_live_bytes", "sah_1_1_5", "digest"},
                               "scene");
    table.columns.insert(table.columns.begin() + 1, {"N_tris", true});
    for (std::size_t scene = 0; scene < names.size(); ++scene) {
        auto& row = table.rows[scene];
        row.insert(row.begin() + 1, shown(comparison.scenes[scene].triangles, Unit::count));
    }
    return table;
}

std::string times_title(const std::string& pool) {
    return "Pool " + pool + ": T_build of atomicmalloc in ms, slowdown of the others";
}

/// The papers' table: T_build of atomicmalloc, slowdown of the others. It is sorted by slowdowns,
/// atomicmalloc's being 1.
Table time_table(const Comparison& comparison, std::size_t pool) {
    const auto cell = [](const Group& group, const Result& r) -> Cell {
        const std::optional<double> factor = slowdown(group.report, r);
        const bool reference = std::string_view(r.allocator.name) == "atomicmalloc";
        const double median = spread(r.built.milliseconds).median;
        const std::string deviation = deviation_text(r.built.milliseconds);
        const std::string ms = fixed(median, 3) + " ms" + deviation;
        if (reference || !factor) return {ms, factor.value_or(median)};
        Cell slower = shown(*factor, Unit::factor);
        if (group.baseline_pool != group.pool) slower.text += "'";
        slower.text += deviation;
        slower.note = ms;
        return slower;
    };
    Table table = matrix_of_done(comparison, pool, times_title(comparison.pools[pool]), cell);
    for (std::size_t scene = 0; scene < comparison.scenes.size(); ++scene) {
        const std::optional<std::size_t> best = fastest_full(group_of(comparison, scene, pool));
        if (best) table.rows[*best][scene + 1].look = Cell::Look::strong;
    }
    return table;
}

/// "internal / external" in %; a fraction below 0 is unknown.
Cell fragmentation_cell(double internal, double external) {
    const auto text = [](double fraction) {
        return fraction < 0 ? "unknown" : fixed(100 * fraction, 1);
    };
    return {text(internal) + " / " + text(external), internal};
}

void add_memory_tables(const Comparison& comparison, std::size_t pool, std::vector<Table>& all) {
    /// @param counted whether the cell is of what is counted during a build
    const auto add = [&](const char* title, bool counted, const CellOf& cell) {
        all.push_back(matrix_of_done(
            comparison, pool, "Pool " + comparison.pools[pool] + ": " + title,
            [&](const Group& group, const Result& r) {
                const bool known = r.method == Method::single && (!counted || r.built.allocations);
                return known ? cell(group, r) : kNoValue;
            }));
    };
    if (comparison.common.options.run.statistics) {
        add("fragmentation after the build in %, internal / external", true,
            [](const Group&, const Result& r) {
                return fragmentation_cell(r.built.allocations->internal_fragmentation,
                                          r.built.external_fragmentation);
            });
        add("fragmentation at the peak in %, internal / external", true,
            [](const Group&, const Result& r) {
                const allocators::PeakUse peak = r.built.peak.value_or(allocators::PeakUse{});
                return fragmentation_cell(peak.internal_fragmentation, peak.external_fragmentation);
            });
        add("allocated of the pool at the peak", true, [](const Group& group, const Result& r) {
            return figure_cell(build_figures(), "allocated_bytes_at_peak", {group.report, r},
                               "unknown");
        });
    }
    add("pool and side tables", false, [](const Group&, const Result& r) -> Cell {
        return {bytes_text(r.built.pool_bytes) + " + " + bytes_text(r.built.overhead_bytes),
                static_cast<double>(r.built.pool_bytes + r.built.overhead_bytes)};
    });
}

/// The smallest pool is the same whatever pool it was searched from: the first that knows it.
Table minimal_pool_table(const Comparison& comparison) {
    return matrix(comparison, 0, "Minimal pool", [&](const Group& group, const Result& r) -> Cell {
        for (const Group& other : comparison.groups) {
            if (other.scene != group.scene) continue;
            for (const Result& same : other.report.results) {
                if (same.allocator.name != r.allocator.name || !same.minimal_pool_bytes) continue;
                return minimal_pool_cell(same, group.report.root_bytes);
            }
        }
        return kNoValue;
    });
}

/// Times against pools; allocators round a pool to what they can use.
Plot pools_plot(const Comparison& comparison, std::size_t scene, const std::string& title) {
    Plot plot{.table = times_title(comparison.pools.back()),
              .title = title + ": all pools",
              .x = "pool / root array, logarithmic",
              .y = "ms"};
    for (std::size_t a = 0; a < first_results(comparison).size(); ++a) {
        const allocators::Traits& allocator = first_results(comparison)[a].allocator;
        Plot::Line line = line_of(allocator.name, allocator.full);
        for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
            const Group& group = group_of(comparison, scene, pool);
            const Result& r = group.report.results[a];
            const double multiple = pool_multiple(group.report, r);
            if (r.outcome != Outcome::done || multiple <= 0) continue;
            const double ms = spread(r.built.milliseconds).median;
            line.points.push_back({multiple, ms,
                                   "pool " + comparison.pools[pool] + ": " + fixed(ms, 3) + " ms" +
                                       deviation_text(r.built.milliseconds)});
        }
        plot.lines.push_back(std::move(line));
    }
    return plot;
}

}  // namespace

const Group& group_of(const Comparison& comparison, std::size_t scene, std::size_t pool) {
    return comparison.groups[scene * comparison.pools.size() + pool];
}

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

const Result* typical(const Comparison& comparison, std::size_t scene) {
    const Result* found = nullptr;
    for (const Group& group : comparison.groups) {
        if (group.scene != scene) continue;
        for (const Result& r : group.report.results) {
            if (r.outcome != Outcome::done) continue;
            if (found == nullptr || (!found->built.allocations && r.built.allocations) ||
                (!found->allocator.full && r.allocator.full && r.built.allocations)) {
                found = &r;
            }
        }
    }
    return found;
}

std::vector<Table> comparison_tables(const Comparison& comparison) {
    std::vector<Table> all{run_table(comparison), scene_table(comparison)};
    for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
        all.push_back(time_table(comparison, pool));
    }
    if (comparison.common.provenance.machine.gpu)
        all.push_back(registers_table(first_results(comparison)));
    for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
        add_memory_tables(comparison, pool, all);
    }
    if (comparison.common.options.minimal_pool) all.push_back(minimal_pool_table(comparison));
    return all;
}

std::vector<Plot> comparison_plots(const Comparison& comparison) {
    std::vector<Plot> all;
    const std::vector<std::string> names = scene_names(comparison);
    for (std::size_t scene = 0; scene < names.size(); ++scene) {
        for (std::size_t pool = 0; pool < comparison.pools.size(); ++pool) {
            const Group& group = group_of(comparison, scene, pool);
            all.push_back(slowdown_plot(group.report, times_title(group.pool), names[scene],
                                        fastest_full(group)));
        }
        if (comparison.pools.size() > 1) {
            all.push_back(pools_plot(comparison, scene, names[scene]));
        }
    }
    return all;
}

}  // namespace heapwood::app
