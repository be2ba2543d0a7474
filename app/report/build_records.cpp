#include "app/report/build_records.h"

#include <algorithm>
#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/build_figures.h"

namespace heapwood::app {

Record build_record(const Report& report, const Result& result) {
    Record record{{"scene", report.scene_path},
                  {"triangles", report.triangles},
                  {"scene_digest", hex(report.scene_digest)},
                  {"device_name", report.machine.name},
                  {"version", version().version},
                  {"git", version().git},
                  {"host_pool", keeps_memory(report) ? "on" : "off"}};
    append(record, build_figures(), BuildOf{report, result});
    return record;
}

Cell minimal_pool_cell(const Result& result, std::uint64_t root_bytes) {
    if (!result.minimal_pool_bytes) return kNoValue;
    const auto bytes = static_cast<double>(*result.minimal_pool_bytes);
    return {bytes_text(*result.minimal_pool_bytes) + ", " +
                fixed(bytes / static_cast<double>(root_bytes), 2) + "x",
            bytes};
}

Plot slowdown_plot(const Report& report, std::string table, std::string title,
                   std::optional<std::size_t> fastest) {
    const auto done = [](const Result& r) { return r.outcome == Outcome::done; };
    const bool relative =
        std::all_of(report.results.begin(), report.results.end(),
                    [&](const Result& r) { return !done(r) || slowdown(report, r); });
    Plot plot{
        .table = std::move(table), .title = std::move(title), .x = "", .y = relative ? "x" : " ms"};
    if (relative) plot.base = 1;
    for (std::size_t i = 0; i < report.results.size(); ++i) {
        const Result& r = report.results[i];
        Plot::Line line{.name = starred(r.allocator.name, r.allocator.full),
                        .points = {},
                        .strong = fastest == i,
                        .partial = !r.allocator.full};
        if (done(r)) {
            const double ms = spread(r.samples).median;
            const double figure = relative ? *slowdown(report, r) : ms;
            line.points = {{0, figure,
                            relative ? fixed(figure, 2) + "x, " + fixed(ms, 3) + " ms"
                                     : fixed(ms, 3) + " ms"}};
        } else {
            line.word = word(r.outcome);
        }
        plot.lines.push_back(std::move(line));
    }
    return plot;
}

}  // namespace heapwood::app
