/// @file
/// The verb `bench`.
#include <algorithm>

#include "app/backends/registers.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/base/text.h"
#include "app/measure/bench_turns.h"
#include "app/measure/bench_workers.h"
#include "app/measure/interrupts.h"
#include "app/report/bench_printers.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/print.h"

namespace heapwood::app {
namespace {

/// The tests that were asked for, each once, in the order of test_names(). @throws UsageError.
std::vector<std::string> chosen_tests(const std::vector<std::string>& asked) {
    std::vector<std::string> known;
    for (const TestName& test : test_names()) known.push_back(test.name);
    for (const std::string& name : asked) {
        if (name != "all" && std::find(known.begin(), known.end(), name) == known.end()) {
            throw UsageError("no test '" + name + "'; there are " + joined(known, ", ") + ", all" +
                             did_you_mean(name, known));
        }
    }
    const auto wanted = [&](const std::string& name) {
        return std::find(asked.begin(), asked.end(), name) != asked.end();
    };
    std::vector<std::string> chosen;
    for (const std::string& name : known) {
        if (wanted(name) || wanted("all")) chosen.push_back(name);
    }
    return chosen;
}

/// What the compiler said, in the place of what is measured.
void add_registers(BenchReport& report) {
    for (std::size_t s = 0; s < report.series.size(); ++s) {
        if (report.series[s].test != "registers") continue;
        for (std::size_t p = 0; p < report.players.size(); ++p) {
            if (report.players[p].baseline()) continue;
            BenchCell cell{.series = s, .player = p, .x = std::nullopt, .task = {}};
            const auto found =
                find_registers(kernel_table(), report.players[p].name, report.machine.architecture);
            if (!found) {
                cell.result.message = "the compiler's figures are only in a program with CUDA";
            } else {
                cell.result.outcome = Outcome::done;
                const auto add = [&](const char* metric, const auto& kernel) {
                    if (kernel) {
                        cell.result.metrics[metric].value = {
                            static_cast<double>(kernel->registers)};
                    }
                };
                add("uncoalesced", found->uncoalesced);
                add("coalesced", found->coalesced);
            }
            report.cells.push_back(std::move(cell));
        }
    }
}

BenchReport prepared(const BenchOptions& options, const std::vector<const Backend*>& available) {
    BenchReport report;
    const std::vector<std::string> tests = chosen_tests(options.tests);
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
    BuildParameters parameters;
    parameters.allocators = options.allocators;
    parameters.allocator_options = options.allocator_options;
    parameters.threads = options.threads;
    for (const Backend* backend : choose_backends(available, parameters, report.machine.gpu)) {
        report.players.push_back(player_of(*backend));
    }
    for (const std::string& test : tests) {
        for (Series& series : series_of(test, report.run.settings)) {
            if (!series.points.empty() || test == "registers") {
                report.series.push_back(std::move(series));
            }
        }
    }
    if (std::any_of(report.series.begin(), report.series.end(),
                    [](const Series& series) { return series.baseline; })) {
        report.players.push_back(prefix_sum_player());
    }
    if (report.series.empty()) {
        const std::uint64_t pool = default_bench_pool(report.run.settings);
        throw UsageError("a pool of " + bytes_text(options.pool_bytes.value_or(pool)) +
                         " is too small for any point of " + joined(tests, ", ") +
                         ": use a larger --pool");
    }
    report.cells = cells_of(report.series, report.players);
    report.asked_for_published = options.published;
    if (options.published) report.published = published_rows(report.series);
    return report;
}

}  // namespace

ExitCode bench(const BenchOptions& options, const std::vector<const Backend*>& available) {
    BenchReport report = prepared(options, available);
    std::optional<Output> json;
    if (!options.output.json.empty()) json.emplace(options.output.json);
    int signal = 0;
    {
        const Interrupts interrupts;
        take_turns(report, "", interrupts);
        signal = interrupts.signal();
    }
    add_registers(report);
    tell_errors(report);
    print(report, options.output, json ? &*json : nullptr);
    if (signal != 0) {
        log::error("interrupted: the results are those of the turns until then");
        return static_cast<ExitCode>(128 + signal);
    }
    return verdict(report);
}

ExitCode bench_worker(const BenchWorkerOptions& options,
                      const std::vector<const Backend*>& available) {
    serve_bench_tasks(options.device == DeviceChoice::gpu, options.threads, options.trace,
                      available);
    return ExitCode::done;
}

}  // namespace heapwood::app
