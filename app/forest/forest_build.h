/// @file
/// Builds in parts, by this process or by several.
#pragma once

#include "app/cli/cli.h"
#include "app/forest/forest_report.h"
#include "kdtree/tree/tree_sink.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// By this process, cell by cell, within the memory that there may be. Shows progress, and sets
/// what the report says of the build. @throws allocators::BufferError for too little memory.
void build_here(const BuildOptions& options, const scenes::Scene& scene, unsigned threads,
                kdtree::TreeSink& sink, ForestReport& report);

/// By several processes (app/forest/remote_workers.h), with files in a folder beside that of the
/// tree.
/// @throws Interrupted, and std::runtime_error for what goes wrong with them.
void build_by_processes(const BuildOptions& options, const scenes::Scene& scene,
                        kdtree::TreeSink& sink, ForestReport& report);

}  // namespace heapwood::app
