/// @file
/// The verb `replay`.
#include <chrono>

#include "app/base/console.h"
#include "app/base/text.h"
#include "app/inputs/trace_file.h"
#include "app/measure/engine/engine.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/prepare.h"
#include "app/verbs/publish.h"
#include "app/verbs/shared_input.h"

namespace heapwood::app {
namespace {

/// @throws UsageError for a pace that a trace has no times for, or that takes longer than a turn
/// may.
void check_pace(const ReplayOptions& options, const allocators::TraceFacts& facts) {
    if (options.pace <= 0) return;
    if (!facts.nanoseconds) {
        throw UsageError("--pace: '" + options.trace +
                         "' has no times of calls: traces of builds have none, logs of RMM have");
    }
    // A turn has two replays at this pace.
    const double seconds = 2e-9 * static_cast<double>(*facts.nanoseconds) / options.pace;
    if (seconds >= options.run.time_limit) {
        throw UsageError("--pace: two replays of '" + options.trace + "', which a turn has, take " +
                         duration_text(seconds) + " at least, and the time limit is " +
                         duration_text(options.run.time_limit) +
                         ": use a faster pace, as --pace 10x, or a longer --time-limit");
    }
}

}  // namespace

ExitCode replay(const ReplayOptions& options, const Backends& available) {
    Publisher publisher(options);
    check_shared(options.trace);
    const Machine machine = choose_machine(options.device);
    const std::vector<Runner> runners = choose_runners(available, options, machine.gpu);
    show_progress("reading " + options.trace);
    const auto start = std::chrono::steady_clock::now();
    const TraceFile file = read_trace(options.trace);
    const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - start;
    const allocators::TraceFacts facts = allocators::facts(file.trace);
    check_pace(options, facts);
    const std::uint64_t pool_bytes = options.pool
                                         ? options.pool->bytes_for(file.root_bytes)
                                         : default_pool_bytes(file.root_bytes, machine.memory, 1);
    ReplayReport report{.trace = {.path = options.trace,
                                  .digest = file.digest,
                                  .seconds = reading.count(),
                                  .pace = options.pace,
                                  .pool = options.pool ? options.pool->text() : "default",
                                  .pool_bytes = pool_bytes},
                        .header = file.header,
                        .callers = file.trace.callers,
                        .root_bytes = file.root_bytes,
                        .facts = facts,
                        .turns = {}};
    add_cells(report, options, machine, runners);
    WorkloadPlan plan(report.turns, &report.trace);
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    engine.run();
    const ExitCode code = engine.finish(publisher.publish(document_of(report)));
    return code == ExitCode::done ? verdict(report.turns) : code;
}

}  // namespace heapwood::app
