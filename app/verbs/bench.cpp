/// @file
/// The verb `bench`.
#include <algorithm>

#include "app/base/output.h"
#include "app/base/text.h"
#include "app/measure/engine.h"
#include "app/measure/workload_plan.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"

namespace heapwood::app {
namespace {

BenchReport prepared(const BenchOptions& options, const Backends& available) {
    BenchReport report;
    const std::vector<std::string> tests = choose_tests(options.tests);
    report.arguments = options.arguments;
    report.date = now();
    report.machine = choose_machine(options.device);
    report.run = {.settings = {.gpu = report.machine.gpu,
                               .quick = options.quick,
                               .blocks = options.blocks.value_or(8 * report.machine.units),
                               .pool_bytes = options.pool_bytes,
                               .largest_bytes = options.largest_bytes,
                               .iterations = options.iterations,
                               .choices = options.choices,
                               .seed = options.seed},
                  .repeat = options.repeat.value_or(options.quick ? 1 : 3),
                  .threads = options.threads,
                  .time_limit = options.time_limit.value_or(report.machine.gpu ? 2.0F : 5.0F)};
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
    report.asked_for_published = options.published;
    if (options.published) report.published = published_rows(report.series);
    return report;
}

}  // namespace

ExitCode bench(const BenchOptions& options, const Backends& available) {
    BenchReport report = prepared(options, available);
    Publisher publisher(options.output, {}, {{"--resume", options.resume}});
    WorkloadPlan plan(report);
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    engine.run();
    add_registers(report);
    const ExitCode code = engine.finish(publisher.publish(document_of(report)));
    return code == ExitCode::done ? verdict(report) : code;
}

}  // namespace heapwood::app
