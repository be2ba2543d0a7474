#include "app/verbs/prepare.h"

#include <algorithm>

#include "app/base/text.h"
#include "app/inputs/input.h"
#include "app/inputs/input_lines.h"
#include "app/inputs/matrix_market.h"
#include "app/inputs/request_sizes.h"
#include "app/verbs/choices.h"

namespace heapwood::app {

Comparison new_comparison(const CompareOptions& options, const Machine& machine) {
    Comparison comparison;
    comparison.common = new_report(options, machine);
    comparison.time_limit = options.time_limit;
    comparison.minimal_pool = options.minimal_pool;
    comparison.published = options.published;
    return comparison;
}

Compared compared(const CompareOptions& options, const Backends& available,
                  const Machine& machine) {
    return {.scenes = options.scenes,
            .pools = options.pools,
            .backends = choose_backends(available, options, machine.gpu),
            .verify = options.verify,
            .budget = options.budget};
}

BenchFiles files_for(const BenchOptions& options) {
    const std::vector<std::string> tests = choose_tests(options.tests);
    const auto chosen = [&](const char* test) {
        return std::find(tests.begin(), tests.end(), test) != tests.end();
    };
    const bool updates = chosen("graph-update");
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
    report.arguments = options.arguments;
    report.date = now();
    report.machine = machine;
    report.run = {.settings = {.gpu = report.machine.gpu,
                               .quick = options.quick,
                               .blocks = options.blocks.value_or(8 * report.machine.units),
                               .pool_bytes = options.pool_bytes,
                               .largest_bytes = options.largest_bytes,
                               .iterations = options.iterations,
                               .choices = options.choices,
                               .seed = options.seed,
                               .sizes = files.sizes,
                               .graph = files.graph},
                  .repeat = options.repeat.value_or(options.quick ? 1 : 3),
                  .threads = options.threads,
                  .time_limit = options.time_limit.value_or(report.machine.gpu ? 2 : 5)};
    report.runners = choose_runners(available, options, report.machine.gpu);
    for (const std::string& test : tests) {
        for (Series& series : series_of(test, report.run.settings)) {
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
        const std::uint64_t pool = default_bench_pool(report.run.settings);
        throw UsageError("a pool of " + bytes_text(options.pool_bytes.value_or(pool)) +
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
    turns.arguments = options.arguments;
    turns.date = now();
    turns.machine = machine;
    turns.run.settings.gpu = machine.gpu;
    turns.run.settings.choices = options.choices;
    turns.run.repeat = options.repeat;
    turns.run.threads = options.threads;
    turns.run.time_limit = options.time_limit;
    turns.runners = runners;
    report.pool_bytes = options.pool
                            ? options.pool->bytes_for(report.root_bytes)
                            : default_pool_bytes(report.root_bytes, turns.machine.memory, 1);
    Task task;
    task.procedure = Procedure::replay;
    task.lanes = 1;
    task.callers = report.callers;
    task.pool_bytes = report.pool_bytes;
    task.pace = report.pace = options.pace;
    Series series;
    series.id = series.test = "replay";
    series.points.push_back({0, task});
    turns.series.push_back(series);
    turns.cells = cells_of(turns.series, turns.runners);
    if (options.pool) refuse_small_pools(turns, report.pool_bytes);
}

ReplayedTrace replayed(const ReplayReport& report, const ReplayOptions& options,
                       const std::string& digest, double seconds) {
    return {.path = report.path,
            .digest = digest,
            .seconds = seconds,
            .pace = options.pace,
            .pool = options.pool ? options.pool->text() : "default",
            .pool_bytes = report.pool_bytes};
}

}  // namespace heapwood::app
