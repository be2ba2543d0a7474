#include "app/measure/rays/ray_tables.h"

#include <utility>

#include "app/base/text.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The numbers of rays that a time is told for.
constexpr double kRays[] = {1e6, 1e7, 1e8, 1e9};

std::string title_in_place(const TracedTree& tree) {
    return title(tree) + ", in place";
}

Table summary(const RayReport& report) {
    const Report& origin = report.origin;
    return facts_table(
        "",
        {{"scene", origin.scene_path + ": " + grouped(origin.triangles) + " triangles"},
         {"device", origin.provenance.machine.text()},
         {"rays", grouped(report.options.rays) + " of each kind, seed " +
                      std::to_string(report.options.seed) +
                      (report.options.fast ? ", the fast triangle test" : "") +
                      (report.options.devices.empty()
                           ? ""
                           : ", shared by " + grouped(report.options.devices.size()) + " GPUs")}});
}

Table rates(const RayReport& report) {
    Table table{.title = "Millions of rays a second, and of points", .columns = {{"tree"}}};
    const TracedTree* first = first_traced(report);
    if (first != nullptr) {
        for (const RayTimes& t : first->times) table.columns.push_back({title(t), true});
    }
    const auto add = [&](const std::string& name, const std::vector<RayTimes>& times) -> auto& {
        auto& row = table.rows.emplace_back();
        row.push_back(name);
        for (const RayTimes& t : times)
            row.push_back(t.rays == 0 ? Cell(kNoValue) : shown(t.rays_per_second(), Unit::rate));
        return row;
    };
    for (const TracedTree& tree : report.trees) {
        auto& row = add(title(tree), tree.times);
        const bool done = tree.build.outcome == Outcome::done;
        row.resize(table.columns.size(),
                   done ? kNoValue : failed_cell(tree.build.outcome, tree.build.message));
        if (tree.in_place) add(title_in_place(tree), tree.in_place->times);
    }
    return table;
}

/// Of each GPU that shares the rays.
Table rates_of_devices(const RayReport& report) {
    Table table{.title = "Millions of rays a second of each GPU, and of points",
                .columns = {{"tree"}, {"GPU", true}}};
    const TracedTree* first = first_traced(report);
    if (first == nullptr) return table;
    for (const RayTimes& t : first->times) table.columns.push_back({title(t), true});
    for (const TracedTree& tree : report.trees) {
        if (tree.times.empty()) continue;
        for (std::size_t i = 0; i < tree.times.front().devices.size(); ++i) {
            auto& row = table.rows.emplace_back();
            row.push_back(title(tree));
            row.push_back(shown(tree.times.front().devices[i].device, Unit::count));
            for (const RayTimes& t : tree.times) {
                row.push_back(t.rays == 0 ? Cell(kNoValue)
                                          : shown(t.devices[i].rays_per_second(), Unit::rate));
            }
        }
    }
    return table;
}

std::string millions(double rays) {
    return fixed(rays / 1e6, 2) + " M";
}

std::string payoff_text(const std::optional<Payoff>& payoff) {
    if (!payoff) return "never";
    if (payoff->to) return "up to " + millions(*payoff->to);
    return payoff->from > 0 ? "from " + millions(payoff->from) : "always";
}

Table times_to(const RayReport& report) {
    Table table{.title = "Milliseconds from triangles to the results of N rays",
                .columns = {{"tree"}, {"build", true}, {"layout", true}}};
    for (const double rays : kRays)
        table.columns.push_back({"N = " + fixed(rays / 1e6, 0) + " M", true});
    table.columns.push_back({"pays"});
    const TracedTree* first = first_traced(report);
    const auto add = [&](const std::string& name, double build_ms, double layout_ms,
                         const TimeToRays& time, bool is_first) {
        auto& row = table.rows.emplace_back();
        row.push_back(name);
        row.push_back(shown(build_ms, Unit::ms));
        row.push_back(shown(layout_ms, Unit::ms));
        for (const double rays : kRays)
            row.push_back({fixed(time.ms_to(rays), 1), time.ms_to(rays)});
        row.emplace_back(is_first ? kNoValue : payoff_text(payoff(time, first->time())));
    };
    for (const TracedTree& tree : report.trees) {
        if (tree.times.empty()) continue;
        add(title(tree), spread(tree.build.built.milliseconds).median, tree.layout_ms, tree.time(),
            &tree == first);
        if (!tree.in_place) continue;
        add(title_in_place(tree), spread(tree.in_place->build_ms).median,
            spread(tree.in_place->layout_ms).median, tree.in_place->time(), false);
    }
    return table;
}

/// The table of --frames: one row for each tree whose frames were traced.
Table animated(const RayReport& report) {
    Table table{.title = "Frames, each built and traced",
                .columns = {{"tree"},
                            {"frames", true},
                            {"rays each", true},
                            {"rebuild ms", true},
                            {"frame ms", true},
                            {"frames a second", true}}};
    for (const TracedTree& tree : report.trees) {
        if (!tree.animated) continue;
        const AnimatedRays& a = *tree.animated;
        table.rows.push_back({title(tree),
                              shown(a.frames, Unit::count),
                              shown(a.rays, Unit::count),
                              shown(spread(a.rebuild_ms).median, Unit::ms),
                              shown(spread(a.frame_ms).median, Unit::ms),
                              {fixed(a.frames_per_second(), 1), a.frames_per_second()}});
    }
    return table;
}

}  // namespace

std::string title(const TracedTree& tree) {
    return starred(tree.name, tree.build.allocator.full || tree.preset.empty()) +
           (tree.preset.empty() ? "" : ", " + tree.preset);
}

std::string title(const RayTimes& times) {
    return times.asked == Asked::closest ? times.kind : times.kind + " (" + name(times.asked) + ")";
}

const TracedTree* first_traced(const RayReport& report) {
    for (const TracedTree& tree : report.trees) {
        if (!tree.times.empty()) return &tree;
    }
    return nullptr;
}

std::vector<Table> ray_tables(const RayReport& report) {
    std::vector<Table> tables{summary(report), rates(report), times_to(report)};
    if (!report.options.devices.empty()) {
        tables.insert(tables.begin() + 2, rates_of_devices(report));
    }
    if (Table frames = animated(report); !frames.rows.empty()) tables.push_back(std::move(frames));
    return tables;
}

}  // namespace heapwood::app
