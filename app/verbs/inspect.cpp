/// @file
/// The verb `inspect`.
#include "app/base/console.h"
#include "app/base/output.h"
#include "app/inspect/boxes.h"
#include "app/inspect/inspect_report.h"
#include "app/report/documents.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "app/verbs/tree_source.h"

namespace heapwood::app {

ExitCode inspect(const InspectOptions& options, const Backends& available) {
    Publisher publisher(options);
    Output boxes(options.boxes);
    const TreeSource source = tree_source(options, available);
    if (source.tree.nodes.empty()) return verdict(source.origin);
    const kdtree::BuildConfig& config = source.origin.options.config;
    show_progress("counting");
    const InspectReport report{
        .origin = source.origin,
        .tree_digest = digest(source.tree),
        .tree = inspect(source.tree, source.scene.triangles.size(), double{config.traversal_cost},
                        double{config.intersection_cost}, options.longest),
        .boxes = options.boxes};
    if (boxes) publisher.save(boxes, boxes_file(source.tree, options.depth));
    return publisher.publish(document_of(report)) ? verdict(source.origin) : ExitCode::internal;
}

}  // namespace heapwood::app
