#include "app/verbs/prepare.h"

#include <algorithm>

#include "app/base/text.h"
#include "app/inputs/input.h"
#include "app/inputs/input_lines.h"
#include "app/inputs/matrix_market.h"
#include "app/inputs/request_sizes.h"
#include "app/verbs/choices.h"

namespace heapwood::app {

BenchFiles files_for(const BenchOptions& options) {
    const std::vector<std::string> tests = choose_tests(options.tests);
    const auto chosen = [&](const char* test) {
        return std::find(tests.begin(), tests.end(), test) != tests.end();
    };
    const bool updates = chosen("graph-update");
    const auto refuse_idle = [&](const char* option, bool given, const auto& of) {
        if (!given ||
            std::ranges::any_of(of, [&](const auto& test) { return chosen(test.c_str()); }))
            return;
        throw UsageError(std::string(option) + " is for the tests " + joined(of, ", ") +
                         ", which are not among " + joined(tests, ", "));
    };
    refuse_idle("--bytes", !options.run.settings.bytes.empty(), tests_over_sizes());
    refuse_idle("--callers", !options.run.settings.callers.empty(), tests_over_callers());
    if (!options.sizes.empty() && !chosen("churn")) {
        throw UsageError("--sizes is for the test churn, which is not among " +
                         joined(tests, ", "));
    }
    if (!options.graph.empty() && !chosen("graph-init") && !updates) {
        throw UsageError(
            "--graph is for the tests graph-init and graph-update, which are not among " +
            joined(tests, ", "));
    }
    BenchFiles files;
    if (!options.sizes.empty()) files.sizes = read_sizes(options.sizes);
    if (options.graph.empty()) return files;
    files.graph = read_graph(options.graph);
    if (updates && most_batch_edges(*files.graph) == 0) {
        throw InputError(
            options.graph +
            ": the vertices that a batch of graph-update starts from may have edges to "
            "all others already, and it could insert none; leave out graph-update, or "
            "take another graph");
    }
    return files;
}

BenchReport new_bench(const BenchOptions& options, const Backends& available,
                      const Machine& machine, const BenchFiles& files) {
    BenchReport report;
    const std::vector<std::string> tests = choose_tests(options.tests);
    report.provenance = provenance_of(options.arguments, machine);
    report.run = options.run;
    SweepSettings& settings = report.run.settings;
    settings.gpu = machine.gpu;
    settings.blocks = options.blocks.value_or(8 * machine.units);
    settings.sizes = files.sizes;
    settings.graph = files.graph;
    report.run.repeat = options.repeat.value_or(settings.quick ? 1 : 3);
    report.run.time_limit = options.time_limit.value_or(machine.gpu ? 2 : 5);
    report.runners = choose_runners(available, options, machine.gpu);
    for (const std::string& test : tests) {
        for (Series& series : series_of(test, settings)) {
            if (!series.points.empty() || test == "registers") {
                report.series.push_back(std::move(series));
            }
        }
    }
    if (std::any_of(report.series.begin(), report.series.end(),
                    [](const Series& series) { return series.baseline; })) {
        report.runners.push_back(prefix_sum_runner());
    }
    if (report.series.empty()) {
        const std::uint64_t pool = default_bench_pool(settings);
        throw UsageError("a pool of " + bytes_text(settings.pool_bytes.value_or(pool)) +
                         " is too small for any point of " + joined(tests, ", ") +
                         ": use a larger --pool");
    }
    report.cells = cells_of(report.series, report.runners);
    if (report.cells.empty() &&
        std::all_of(report.series.begin(), report.series.end(),
                    [](const Series& series) { return series.full_only; })) {
        throw UsageError(joined(tests, ", ") + (tests.size() == 1 ? " is" : " are") +
                         " for full allocators, and none of these is one");
    }
    report.asked_for_published = options.published;
    if (options.published) {
        std::vector<std::string> ids;
        for (const Series& series : report.series) ids.push_back(series.id);
        report.published = published_rows(ids);
    }
    return report;
}

void add_cells(ReplayReport& report, const ReplayOptions& options, const Machine& machine,
               const std::vector<Runner>& runners) {
    BenchReport& turns = report.turns;
    turns.provenance = provenance_of(options.arguments, machine);
    turns.run = options.run;
    turns.run.settings.gpu = machine.gpu;
    turns.runners = runners;
    Task task;
    task.procedure = Procedure::replay;
    task.lanes = 1;
    task.callers = report.callers;
    task.pool_bytes = report.trace.pool_bytes;
    task.pace = report.trace.pace;
    Series series;
    series.id = series.test = "replay";
    series.points.push_back({0, task});
    turns.series.push_back(series);
    turns.cells = cells_of(turns.series, turns.runners);
    if (options.pool) refuse_small_pools(turns, task.pool_bytes);
}

}  // namespace heapwood::app
