/// @file
/// The verb `trace`.
#include <utility>

#include "app/base/console.h"
#include "app/measure/builds/frames.h"
#include "app/measure/builds/turn.h"
#include "app/measure/rays/ray_run.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "app/verbs/tree_source.h"

namespace heapwood::app {
namespace {

/// One backend's tree and the rays through it.
TracedTree trace_with(const Backend& backend, const TraceOptions& options,
                      const scenes::Scene& scene, const std::vector<scenes::Scene>& frames,
                      const Report& settings, RayBench& bench,
                      const std::vector<TracedTree>& before) {
    TracedTree traced{
        .name = backend.traits.name, .preset = settings.options.preset, .build = {}, .times = {}};
    MeasureOptions measure = settings.options;
    measure.run.pool_bytes = pool_bytes(options.pool, settings, backend);
    show_progress("building with " + traced.name);
    kdtree::Tree tree;
    traced.build = take_turn(backend, {scene, measure, &tree});
    bench.trace_once(tree, traced, before);
    if (backend.gpu) bench.trace_in_place(backend, measure, traced, before);
    bench.trace_frames(backend, measure, frames, traced);
    return traced;
}

}  // namespace

ExitCode trace(const TraceOptions& options, const Backends& available) {
    RayReport report{.origin = new_report(options), .options = options.rays, .trees = {}};
    check_devices(options.rays.devices);
    const bool gpu = report.origin.provenance.machine.gpu;
    const std::vector<const Backend*> chosen = choose_backends(available, options, gpu);
    Publisher publisher(options);
    const FrameChoice choice = frames_of(options.frames, options.scene, chosen);
    if (!options.frames.empty() && !options.rays.devices.empty()) {
        throw UsageError("--frames is of one GPU, which builds and traces: leave out --devices");
    }
    show_progress("loading " + options.scene);
    std::optional<ReadTree> read;
    if (names_tree(options.scene)) read = read_tree(options.scene, options.measure.verify);
    const scenes::Scene scene =
        read ? std::move(read->stored.scene)
             : scenes::load(options.scene, report.origin.options.run.threads);
    describe(report.origin, scene);
    const std::vector<scenes::Scene> frames =
        load_frames(choice, scene, report.origin.options.run.threads);
    RayBench bench(scene, options.rays, report.origin.options.run, gpu);
    report.options.rays = bench.rays();
    ExitCode code = ExitCode::done;
    std::vector<Report> settings;
    if (read) {
        report.origin.options.config = read->stored.config;
        report.origin.options.preset = kPresetOfFile;
        TracedTree& traced = report.trees.emplace_back(TracedTree{
            .name = "file", .preset = kPresetOfFile, .build = read->result, .times = {}});
        bench.trace_once(read->stored.tree, traced, {});
        code = exit_code(traced.build.outcome);
    } else {
        settings.push_back(report.origin);
    }
    for (const std::string& preset : options.beside) {
        settings.push_back(report.origin);
        settings.back().options.config = kdtree::presets().at(preset);
        settings.back().options.preset = preset;
    }
    for (Report& built : settings) {
        for (const Backend* backend : chosen) {
            report.trees.push_back(
                trace_with(*backend, options, scene, frames, built, bench, report.trees));
            built.results.push_back(report.trees.back().build);
        }
        if (code == ExitCode::done) code = verdict(built);
    }
    report.camera = bench.camera();
    if (auto embree = bench.trace_with_embree()) report.trees.push_back(std::move(*embree));
    return publisher.publish(document_of(report)) ? code : ExitCode::internal;
}

}  // namespace heapwood::app
