/// @file
/// The verb `build`.
#include "app/backends/backend.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/base/text.h"
#include "app/measure/minimal_pool.h"
#include "app/measure/pool_trial.h"
#include "app/measure/trace_file.h"
#include "app/measure/turn.h"
#include "app/report/printers.h"
#include "app/report/report.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/print.h"

namespace heapwood::app {
namespace {

/// One allocator's turn, and what may follow it: a trial of larger pools, a search for the
/// smallest.
Result build_with(const Backend& backend, const BuildOptions& options, const scenes::Scene& scene,
                  const Report& report) {
    const bool single = backend.method == Method::single;
    RunOptions run = report.run;
    const PoolSize pool = options.pool.value_or(PoolSize());
    if (single) {
        run.pool_bytes = options.pool ? pool.bytes_for(report.root_bytes)
                                      : default_pool_bytes(report.root_bytes, report.machine.memory,
                                                           backend.traits.smallest_pool);
    }
    Result result = take_turn(
        backend, {.scene = scene, .config = options.config, .run = run, .verify = options.verify});
    if (backend.gpu && single) {
        result.kernels =
            find_registers(kernel_table(), backend.traits.name, report.machine.architecture);
    }
    guarded(result, [&] {
        if (result.outcome == Outcome::pool_exhausted || result.outcome == Outcome::overwritten) {
            result.message +=
                "; " + pool_trial(backend, scene, options.config, run, pool, report.machine.memory);
        } else if (result.outcome == Outcome::done && options.minimal_pool && single) {
            result.minimal_pool_bytes = minimal_pool(backend, scene, options.config, run);
        }
    });
    if (result.outcome != Outcome::done) {
        log::error(std::string(backend.traits.name) + ": " + result.message);
    }
    return result;
}

/// @throws UsageError unless the chosen ones can record a trace: one full allocator, whose frees
/// are those of whole blocks.
void check_trace(const std::vector<const Backend*>& chosen) {
    const Backend& backend = *chosen.front();
    if (chosen.size() == 1 && backend.method == Method::single && backend.traits.full) return;
    throw UsageError("--trace records one build with one full allocator, but " +
                     (chosen.size() > 1 ? std::to_string(chosen.size()) + " were chosen"
                                        : std::string(backend.traits.name) + " is none") +
                     "; choose one, as --allocator hybrid; 'heapwood replay' replays it with all");
}

/// The exit code of the worst that happened: a wrong tree before a build that did not end.
ExitCode verdict(const Report& report) {
    if (!trees_agree(report)) {
        log::error("THE TREES DIFFER: they must be equal bit for bit for every allocator");
        return ExitCode::verification_failed;
    }
    ExitCode code = ExitCode::done;
    for (const Result& result : report.results) {
        if (result.outcome == Outcome::verification_failed) return exit_code(result.outcome);
        if (code == ExitCode::done) code = exit_code(result.outcome);
    }
    return code;
}

}  // namespace

ExitCode build(const BuildOptions& options, const std::vector<const Backend*>& available) {
    check(options.config);
    Report report = new_report(options);
    const std::vector<const Backend*> chosen =
        choose_backends(available, options, report.machine.gpu);
    std::optional<Output> json;
    if (!options.output.json.empty()) json.emplace(options.output.json);
    std::optional<Output> trace;
    if (!options.trace.empty()) {
        check_trace(chosen);
        trace.emplace(options.trace);
        report.run.trace = true;
    }

    show_progress("loading " + options.scene);
    const scenes::Scene scene = scenes::load(options.scene);
    describe(report, scene);
    log::detail(options.scene + ": " + grouped(report.triangles) + " triangles, root array of " +
                bytes_text(report.root_bytes));
    allocators::ArrayPool array_pool(
        report.machine.gpu ? allocators::Place::device : allocators::Place::host,
        options.array_pool);
    report.run.array_pool = &array_pool;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        show_progress("building with " + std::string(chosen[i]->traits.name) + " (" +
                      std::to_string(i + 1) + " of " + std::to_string(chosen.size()) + ")");
        report.results.push_back(build_with(*chosen[i], options, scene, report));
    }
    report.run.array_pool = nullptr;
    for (const Result& result : report.results) {
        if (trace && result.trace) trace->write(trace_text(report, result, *result.trace));
    }
    print(report, options.output, json ? &*json : nullptr);
    return verdict(report);
}

}  // namespace heapwood::app
