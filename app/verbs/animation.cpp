#include "app/verbs/animation.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "app/backends/frame_runs.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/builds/frames.h"
#include "app/measure/builds/turn.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/one_picture.h"
#include "app/verbs/tree_source.h"
#include "kdtree/built_tree.h"

namespace heapwood::app {
namespace {

using allocators::Place;
using Clock = std::chrono::steady_clock;

void add_rays(std::vector<TracedRays>& all, const std::vector<TracedRays>& more) {
    for (const TracedRays& some : more) {
        const auto same = std::ranges::find_if(all, [&](const TracedRays& one) {
            return one.kind == some.kind && one.any_hit == some.any_hit;
        });
        if (same == all.end()) {
            all.push_back(some);
        } else {
            same->rays += some.rays;
            same->ms += some.ms;
        }
    }
}

/// Frame by frame, by a builder that keeps its memory.
class Animation {
public:
    Animation(const RenderOptions& options, const Backend& backend, LiveTree& tree,
              RenderReport& report)
        : options_(options),
          format_(picture_format(options.out)),
          place_(backend.gpu ? Place::device : Place::host),
          tree_(tree),
          report_(report) {}

    /// The bytes of a frame's file.
    std::string render(const scenes::Scene& scene, const std::string& file,
                       const std::string& what) {
        FramePicture frame{.file = file};
        frame.build_ms = build(scene);
        if (report_.frames.empty()) {
            const kdtree::Tree first = tree_.to_host();
            report_.tree_digest = digest(first);
            report_.camera = chosen_camera(options_, scene, tree_.rays(), [&] { return first; });
        }
        const bool leaves = facts_of(report_.settings.mode).of_tree;
        const Rendering made =
            app::render(scene, leaves ? tree_.to_host() : kdtree::Tree(), tree_.rays(),
                        report_.camera, report_.settings, progress_of(what));
        frame.render_ms = made.ms;
        report_.render_ms += made.ms;
        add_rays(report_.rays, made.rays);
        report_.frames.push_back(std::move(frame));
        return file_of(made, format_, report_);
    }

private:
    double build(const scenes::Scene& scene) {
        std::optional<PlacedFrame> placed;
        if (place_ == Place::device) placed.emplace(scene, place_);
        const auto start = Clock::now();
        try {
            if (placed) {
                tree_.rebuild(placed->frame(), nullptr);
            } else {
                tree_.rebuild(scene, nullptr);
            }
        } catch (const kdtree::BuildError& error) {
            throw Failure{outcome_of(tree_.result().status), scene.path + ": " + error.what()};
        }
        kdtree::wait(tree_.rays());
        return ms_since(start);
    }

    const RenderOptions& options_;
    PictureFormat format_;
    Place place_;
    LiveTree& tree_;
    RenderReport& report_;
};

}  // namespace

ExitCode render_animation(const RenderOptions& options,
                          const std::vector<const Backend*>& available, Publisher& publisher) {
    Report origin = new_report(options);
    const auto chosen = choose_backends(available, options, origin.provenance.machine.gpu);
    require_one(chosen, options, "render needs one tree of each frame");
    const Backend& backend = *chosen.front();
    const FrameChoice choice = frames_of(options.frames, options.scene, chosen);
    const std::vector<std::string> names = numbered_files(options.out, choice);
    std::deque<Output> files;
    for (const std::string& name : names) files.emplace_back(name);
    show_progress("loading " + options.scene);
    const unsigned threads = origin.options.run.threads;
    const scenes::Scene scene = scenes::load(options.scene, threads);
    describe(origin, scene);
    const std::vector<scenes::Scene> frames = load_frames(choice, scene, threads);
    std::size_t most = 0;
    for (const scenes::Scene& frame : frames) most = std::max(most, frame.triangles.size());
    MeasureOptions measure = origin.options;
    measure.run.pool_bytes = pool_bytes(options.pool, origin, backend);

    RenderReport report{
        .origin = origin, .settings = options.settings, .file = options.out, .rays = {}};
    report.settings.threads = options.measure.run.threads;
    Result result;
    guarded(result, [&] {
        const auto tree = backend.make_live_tree(most, measure.config, measure.run);
        Animation animation(options, backend, *tree, report);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const std::string what = "frame " + grouped(i + 1) + " of " + grouped(frames.size());
            publisher.save(files[i], animation.render(frames[i], names[i], what));
        }
    });
    report.origin.results.push_back(result);
    if (result.outcome != Outcome::done) {
        log::error(std::string(backend.traits.name) + ": " + result.message);
        return verdict(report.origin);
    }
    return publisher.publish(document_of(report)) ? verdict(report.origin) : ExitCode::internal;
}

}  // namespace heapwood::app
