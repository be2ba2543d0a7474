/// @file
/// The verb `trace`.
#include <algorithm>
#include <utility>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/measure/ray_run.h"
#include "app/measure/turn.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"

namespace heapwood::app {
namespace {

/// One backend's tree and the rays through it; a tree that was traced before is not traced again.
TracedTree trace_with(const Backend& backend, const TraceOptions& options,
                      const scenes::Scene& scene, const Report& settings, RayBench& bench,
                      const std::vector<TracedTree>& before) {
    TracedTree traced{
        .name = backend.traits.name, .preset = settings.preset, .build = {}, .times = {}};
    RunOptions run = settings.run;
    if (backend.method == Method::single) {
        run.pool_bytes = pool_bytes(options.pool, settings, backend);
    }
    show_progress("building with " + traced.name);
    kdtree::Tree tree;
    traced.build = take_turn(backend, {scene, settings.configuration, run, options.verify, &tree});
    const auto same = std::ranges::find_if(before, [&](const TracedTree& other) {
        return traced.build.tree && other.build.tree && !other.times.empty() &&
               traced.build.tree->digest == other.build.tree->digest;
    });
    if (same != before.end()) {
        traced.layout_ms = same->layout_ms;
        traced.bytes = same->bytes;
        traced.times = same->times;
    } else if (traced.build.outcome == Outcome::done) {
        show_progress("tracing rays");
        guarded(traced.build, [&] { bench.trace(tree, traced); });
    }
    if (traced.build.outcome != Outcome::done) {
        log::error(traced.name + ": " + traced.build.message);
    }
    return traced;
}

}  // namespace

ExitCode trace(const TraceOptions& options, const Backends& available) {
    RayReport report{.origin = new_report(options),
                     .seed = options.seed,
                     .fast = options.fast,
                     .devices = options.devices,
                     .trees = {}};
    check_devices(options.devices);
    const bool gpu = report.origin.machine.gpu;
    const std::vector<const Backend*> chosen = choose_backends(available, options, gpu);
    Publisher publisher(options);
    show_progress("loading " + options.scene);
    const scenes::Scene scene = scenes::load(options.scene);
    describe(report.origin, scene);
    RayBench bench(scene, {options.rays, options.seed, options.repeat, options.warm_up,
                           options.threads, options.fast, gpu, options.devices});
    report.rays = bench.rays();
    std::vector<Report> settings{report.origin};
    for (const std::string& preset : options.beside) {
        settings.push_back(report.origin);
        settings.back().configuration = kdtree::presets().at(preset);
        settings.back().preset = preset;
    }
    ExitCode code = ExitCode::done;
    for (Report& built : settings) {
        for (const Backend* backend : chosen) {
            report.trees.push_back(
                trace_with(*backend, options, scene, built, bench, report.trees));
            built.results.push_back(report.trees.back().build);
        }
        if (code == ExitCode::done) code = verdict(built);
    }
    report.camera = bench.camera();
    if (auto embree = bench.trace_with_embree()) report.trees.push_back(std::move(*embree));
    return publisher.publish(document_of(report)) ? code : ExitCode::internal;
}

}  // namespace heapwood::app
