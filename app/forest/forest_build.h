/// @file
/// Builds in parts, by this process or by several.
#pragma once

#include "app/cli/cli.h"
#include "app/forest/forest_report.h"
#include "kdtree/tree/tree_writer.h"

namespace heapwood::app {

/// By this process, which has the whole scene, cell by cell, within the memory that there may be.
/// Shows progress, and sets what the report says of scene and build.
/// @throws scenes::SceneError, and allocators::BufferError for too little memory.
void build_here(const BuildOptions& options, unsigned threads, kdtree::TreeWriter& writer,
                ForestReport& report);

/// By several processes (app/forest/remote_workers.h), each of which has its share of the scene,
/// with files in a folder beside that of the tree.
/// @throws scenes::SceneError, Interrupted, and std::runtime_error for what goes wrong with them.
void build_by_processes(const BuildOptions& options, kdtree::TreeWriter& writer,
                        ForestReport& report);

}  // namespace heapwood::app
