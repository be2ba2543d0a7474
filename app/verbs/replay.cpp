/// @file
/// The verb `replay`.
#include <optional>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/measure/bench_turns.h"
#include "app/measure/interrupts.h"
#include "app/measure/trace_file.h"
#include "app/report/replay_printers.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/print.h"

namespace heapwood::app {
namespace {

ReplayReport prepared(const ReplayOptions& options, const std::vector<const Backend*>& available) {
    ReplayReport report;
    BenchReport& turns = report.turns;
    turns.arguments = options.arguments;
    turns.date = now();
    turns.machine = choose_machine(options.device);
    turns.run = {.settings = {.gpu = turns.machine.gpu,
                              .quick = false,
                              .pool_bytes = std::nullopt,
                              .iterations = std::nullopt,
                              .choices = options.choices},
                 .repeat = options.repeat,
                 .threads = options.threads,
                 .time_limit = options.time_limit};
    BuildParameters parameters;
    parameters.allocators = options.allocators;
    parameters.allocator_options = options.allocator_options;
    parameters.threads = options.threads;
    for (const Backend* backend : choose_backends(available, parameters, turns.machine.gpu)) {
        turns.players.push_back(player_of(*backend));
    }

    show_progress("reading " + options.trace);
    const TraceFile file = read_trace(options.trace);
    report.path = options.trace;
    report.header = file.header;
    report.root_bytes = file.root_bytes;
    report.callers = file.trace.callers;
    report.facts = allocators::facts(file.trace);
    report.pool_bytes = options.pool ? options.pool->bytes_for(file.root_bytes)
                                     : default_pool_bytes(file.root_bytes, turns.machine.memory, 1);
    Task task;
    task.procedure = Procedure::replay;
    task.by_warp = true;
    task.callers = report.callers;
    task.pool_bytes = report.pool_bytes;
    task.choices = options.choices;
    Series series;
    series.id = series.test = "replay";
    series.points.push_back({0, task});
    turns.series.push_back(series);
    turns.cells = cells_of(turns.series, turns.players);
    return report;
}

}  // namespace

ExitCode replay(const ReplayOptions& options, const std::vector<const Backend*>& available) {
    ReplayReport report = prepared(options, available);
    std::optional<Output> json;
    if (!options.output.json.empty()) json.emplace(options.output.json);
    int signal = 0;
    {
        const Interrupts interrupts;
        take_turns(report.turns, options.trace, interrupts);
        signal = interrupts.signal();
    }
    tell_errors(report.turns);
    print(report, options.output, json ? &*json : nullptr);
    if (signal != 0) {
        log::error("interrupted: the results are those of the turns until then");
        return static_cast<ExitCode>(128 + signal);
    }
    return verdict(report.turns);
}

}  // namespace heapwood::app
