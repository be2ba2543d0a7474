/// @file
/// The verb `render`.
#include <chrono>

#include "app/base/console.h"
#include "app/base/output.h"
#include "app/report/documents.h"
#include "app/verbs/animation.h"
#include "app/verbs/commands.h"
#include "app/verbs/one_picture.h"
#include "app/verbs/publish.h"
#include "app/verbs/tree_source.h"

namespace heapwood::app {

ExitCode render(const RenderOptions& options, const Backends& available) {
    using allocators::Place;
    const PictureFormat format = picture_format(options.out);
    Publisher publisher(options);
    if (!options.frames.empty()) return render_animation(options, available, publisher);
    Output out(options.out);
    const TreeSource source = tree_source(options, available);
    if (source.tree.nodes.empty()) return verdict(source.origin);
    RenderReport report{
        .origin = source.origin, .settings = options.settings, .file = options.out, .rays = {}};
    report.tree_digest = digest(source.tree);
    report.settings.threads = options.measure.run.threads;
    const auto start = std::chrono::steady_clock::now();
    const kdtree::RayTree rays(source.tree, source.scene,
                               source.origin.provenance.machine.gpu ? Place::device : Place::host);
    report.layout_ms = ms_since(start);
    report.camera = chosen_camera(options, source.scene, rays, [&] { return source.tree; });
    const Rendering made = render(source.scene, source.tree, rays, report.camera, report.settings,
                                  progress_of("rendering"));
    show_progress("writing " + options.out);
    publisher.save(out, file_of(made, format, report));
    report.rays = made.rays;
    report.render_ms = made.ms;
    return publisher.publish(document_of(report)) ? verdict(source.origin) : ExitCode::internal;
}

}  // namespace heapwood::app
