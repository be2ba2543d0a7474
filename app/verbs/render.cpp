/// @file
/// The verb `render`.
#include <chrono>
#include <utility>

#include "app/base/console.h"
#include "app/base/output.h"
#include "app/base/text.h"
#include "app/render/pictures/picture_file.h"
#include "app/render/pictures/render_report.h"
#include "app/report/documents.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "app/verbs/tree_source.h"

namespace heapwood::app {
namespace {

using allocators::Place;
using Clock = std::chrono::steady_clock;

/// What the user says of the camera, and for the rest what suits the scene.
Camera chosen_camera(const RenderOptions& options, const TreeSource& source,
                     const kdtree::RayTree& rays) {
    const RenderSettings& s = options.settings;
    Camera camera{{0, 0, 0}, {0, 0, 0}, 50};
    if (options.eye) {
        const scenes::Bounds& box = source.scene.bounds;
        camera.target = box.lo * 0.5F + box.hi * 0.5F;
    } else if (rays.place() == Place::host) {
        camera = camera_of(source.scene, rays, s.width, s.height);
    } else {
        camera =
            camera_of(source.scene, kdtree::RayTree(source.tree, source.scene), s.width, s.height);
    }
    camera.eye = options.eye.value_or(camera.eye);
    camera.target = options.target.value_or(camera.target);
    camera.up = options.up.value_or(camera.up);
    camera.field_of_view = options.field_of_view.value_or(camera.field_of_view);
    return camera;
}

/// Says how much is done, and how long the rest takes.
Progress progress_of(Clock::time_point start) {
    return [start](double part) {
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        std::string text = "rendering: " + fixed(100 * part, 0) + " %";
        if (part > 0.02) text += ", " + duration_text(seconds / part - seconds) + " left";
        show_progress(text);
    };
}

}  // namespace

ExitCode render(const RenderOptions& options, const Backends& available) {
    const PictureFormat format = picture_format(options.out);
    Publisher publisher(options);
    Output out(options.out);
    const TreeSource source = tree_source(options, available);
    if (source.tree.nodes.empty()) return verdict(source.origin);
    RenderReport report{
        .origin = source.origin, .settings = options.settings, .file = options.out, .rays = {}};
    report.tree_digest = digest(source.tree);
    report.settings.threads = options.measure.run.threads;
    const auto start = Clock::now();
    const kdtree::RayTree rays(source.tree, source.scene,
                               source.origin.provenance.machine.gpu ? Place::device : Place::host);
    report.layout_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    report.camera = chosen_camera(options, source, rays);
    const Rendering made = render(source.scene, source.tree, rays, report.camera, report.settings,
                                  progress_of(Clock::now()));
    const Mode mode = report.settings.mode;
    const Picture picture = picture_of(made.film, mode);
    show_progress("writing " + options.out);
    publisher.save(out,
                   format == PictureFormat::png ? png_file(picture) : exr_file(made.film, mode));
    report.rays = made.rays;
    report.render_ms = made.ms;
    report.scale = picture.scale;
    if (mode == Mode::cost) report.effort = mean_effort(made.film);
    return publisher.publish(document_of(report)) ? verdict(source.origin) : ExitCode::internal;
}

}  // namespace heapwood::app
