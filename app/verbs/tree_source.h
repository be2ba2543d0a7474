/// @file
/// A scene with its tree, for verbs that look at trees: from a tree file, or built.
#pragma once

#include <vector>

#include "app/backends/backend.h"
#include "app/cli/cli.h"
#include "app/measure/builds/frames.h"
#include "app/measure/builds/report.h"
#include "kdtree/tree/tree_file.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// A tree and where it comes from.
struct TreeSource {
    Report origin;  ///< with its one result
    scenes::Scene scene;
    kdtree::Tree tree;  ///< without nodes if it is wrong or its build failed, which has been told
};

/// A tree file that was read.
struct ReadTree {
    kdtree::StoredTree stored;
    Result result;  ///< as of a build: with the time that reading took, and whether it is right
};

/// @param verify checks the tree against the triangles in the file, and not its structure alone.
/// @throws kdtree::TreeFileError.
ReadTree read_tree(const std::string& path, bool verify);

/// Whether what is called a scene is a tree file, which its first bytes say.
bool names_tree(const std::string& scene);

/// The frames of an animation of a scene (choose_frames()); none for an empty text.
/// @throws UsageError also for a tree file, for the trees of frames are built.
FrameChoice frames_of(const std::string& text, const std::string& scene,
                      const std::vector<const Backend*>& chosen);

/// Reads the tree file that the parameters name, or loads their scene and builds its tree, once.
/// @throws UsageError, NoDevice, scenes::SceneError, kdtree::TreeFileError, std::bad_alloc.
TreeSource tree_source(const TreeParameters& parameters,
                       const std::vector<const Backend*>& available);

}  // namespace heapwood::app
