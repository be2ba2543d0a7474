/// @file
/// The verb `build`.
#include "app/backends/backend.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/base/text.h"
#include "app/inputs/trace_file.h"
#include "app/measure/builds/frames.h"
#include "app/measure/builds/pool_search.h"
#include "app/measure/builds/report.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/builds/turn.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "kdtree/tree/tree_file.h"

namespace heapwood::app {
namespace {

/// One allocator's turn, then perhaps the frames of an animation, and a trial of larger pools or a
/// search for the smallest.
Result build_with(const Backend& backend, const BuildOptions& options, const scenes::Scene& scene,
                  const std::vector<scenes::Scene>& frames, const Report& report,
                  kdtree::Tree* keep) {
    const std::string name = backend.traits.name;
    const bool single = backend.method == Method::single;
    const Machine& machine = report.provenance.machine;
    MeasureOptions measure = report.options;
    choose_pool(options.pool, options.growth, report, backend, measure.run);
    const bool grows = measure.run.grow_to > 0;
    const Turn turn{scene, measure, keep};
    Result result = take_turn(backend, turn);
    if (!frames.empty()) take_frames(backend, frames, turn, result);
    if (backend.gpu && single && !grows) {
        result.kernels = find_registers(kernel_table(), name, machine.architecture);
    }
    guarded(result, [&] {
        const bool exhausted =
            result.outcome == Outcome::pool_exhausted || result.outcome == Outcome::overwritten;
        if (exhausted && grows) {
            result.message += ": choose a larger --grow-to, or another allocator";
        } else if (exhausted) {
            const PoolSize pool = options.pool.value_or(PoolSize());
            result.message += "; " + pool_trial(backend, turn, pool, machine.memory);
        } else if (result.outcome == Outcome::done && measure.minimal_pool && single) {
            result.minimal_pool_bytes = minimal_pool(backend, turn);
        }
    });
    if (result.outcome != Outcome::done) log::error(name + ": " + result.message);
    return result;
}

}  // namespace

ExitCode build(const BuildOptions& options, const Backends& available) {
    if (options.in_parts()) return build_in_parts(options);
    Report report = new_report(options);
    const bool gpu = report.provenance.machine.gpu;
    auto chosen = choose_backends(available, options, gpu);
    if (options.growth.grows) chosen = growing(chosen);
    Publisher publisher(options);
    if (!options.trace.empty()) check_trace(chosen, options);
    const FrameChoice choice = choose_frames(options.frames, chosen);
    Output trace(options.trace), out(options.out);
    report.options.run.trace = !options.trace.empty();
    show_progress("loading " + options.scene);
    const scenes::Scene scene = scenes::load(options.scene, report.options.run.threads);
    const std::vector<scenes::Scene> frames =
        load_frames(choice, scene, report.options.run.threads);
    describe(report, scene);
    log::detail(options.scene + ": " + grouped(report.triangles) + " triangles, root array of " +
                bytes_text(report.root_bytes));
    allocators::ArrayPool array_pool(gpu ? allocators::Place::device : allocators::Place::host,
                                     report.options.run.keep);
    report.options.run.array_pool = &array_pool;
    kdtree::Tree tree;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        show_progress("building with " + std::string(chosen[i]->traits.name) + " (" +
                      std::to_string(i + 1) + " of " + std::to_string(chosen.size()) + ")");
        report.results.push_back(
            build_with(*chosen[i], options, scene, frames, report, out ? &tree : nullptr));
    }
    for (const Result& result : report.results) {
        if (result.built.trace)
            publisher.save(trace, trace_text(*result.built.trace, trace_origin(report, result)));
    }
    const bool agree = trees_agree(report);
    if (!agree) log::error("THE TREES DIFFER: they must be equal bit for bit for every allocator");
    if (agree && !tree.nodes.empty()) {
        const allocators::Buffer file = tree_file(tree, scene, report.options.config);
        publisher.save(out, {file.as<char>(), file.size()});
    }
    return publisher.publish(document_of(report)) ? verdict(report) : ExitCode::internal;
}

}  // namespace heapwood::app
