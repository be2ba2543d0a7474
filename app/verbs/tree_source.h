/// @file
/// A scene with its tree, for verbs that look at trees: from a tree file, or built.
#pragma once

#include <vector>

#include "app/backends/backend.h"
#include "app/cli/cli.h"
#include "app/measure/report.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// A tree and where it comes from.
struct TreeSource {
    Report origin;  ///< of a tree that was built with its one result
    scenes::Scene scene;
    kdtree::Tree tree;  ///< without nodes if the build failed, which has been told
};

/// Reads the tree file that the parameters name (.kdt), or loads their scene and builds its tree,
/// once.
/// @throws UsageError, NoDevice, scenes::SceneError, kdtree::TreeFileError, std::bad_alloc.
TreeSource tree_source(const TreeParameters& parameters,
                       const std::vector<const Backend*>& available);

}  // namespace heapwood::app
