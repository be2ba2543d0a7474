/// @file
/// The verb `replay`.
#include <chrono>

#include "app/base/console.h"
#include "app/measure/engine.h"
#include "app/measure/trace_file.h"
#include "app/measure/workload_plan.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"

namespace heapwood::app {
namespace {

ReplayReport prepared(const ReplayOptions& options, const Machine& machine,
                      const std::vector<Runner>& runners, const TraceFile& file) {
    ReplayReport report;
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
    report.path = options.trace;
    report.header = file.header;
    report.root_bytes = file.root_bytes;
    report.callers = file.trace.callers;
    report.facts = allocators::facts(file.trace);
    report.pool_bytes = options.pool ? options.pool->bytes_for(file.root_bytes)
                                     : default_pool_bytes(file.root_bytes, turns.machine.memory, 1);
    Task task;
    task.procedure = Procedure::replay;
    task.lanes = 1;
    task.callers = report.callers;
    task.pool_bytes = report.pool_bytes;
    Series series;
    series.id = series.test = "replay";
    series.points.push_back({0, task});
    turns.series.push_back(series);
    turns.cells = cells_of(turns.series, turns.runners);
    if (options.pool) refuse_small_pools(turns, report.pool_bytes);
    return report;
}

}  // namespace

ExitCode replay(const ReplayOptions& options, const Backends& available) {
    Publisher publisher(options.output, {{"the trace", options.trace}},
                        {{"--resume", options.resume}});
    const Machine machine = choose_machine(options.device);
    const std::vector<Runner> runners = choose_runners(available, options, machine.gpu);
    show_progress("reading " + options.trace);
    const auto start = std::chrono::steady_clock::now();
    const TraceFile file = read_trace(options.trace);
    const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - start;
    ReplayReport report = prepared(options, machine, runners, file);
    WorkloadPlan plan(report.turns,
                      ReplayedTrace{.path = options.trace,
                                    .digest = file.digest,
                                    .seconds = reading.count(),
                                    .pool = options.pool ? options.pool->text() : "default",
                                    .pool_bytes = report.pool_bytes});
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    report.pool_bytes = plan.pool_bytes();
    engine.run();
    const ExitCode code = engine.finish(publisher.publish(document_of(report)));
    return code == ExitCode::done ? verdict(report.turns) : code;
}

}  // namespace heapwood::app
