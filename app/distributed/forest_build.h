/// @file
/// Builds in parts, by this process or by several.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "app/base/console.h"
#include "app/cli/cli.h"
#include "app/distributed/forest_report.h"
#include "app/distributed/remote_workers.h"
#include "app/measure/engine/interrupts.h"
#include "kdtree/tree/tree_writer.h"

namespace heapwood::app {

/// By this process, which has the whole scene, cell by cell, within the memory that there may be.
/// Shows progress, and sets what the report says of scene and build.
/// @throws scenes::SceneError, allocators::BufferError for too little memory, and Interrupted.
void build_here(const BuildOptions& options, unsigned threads, const Interrupts& interrupts,
                kdtree::TreeWriter& writer, ForestReport& report);

/// Told by the caller's thread what a build does next, and how many of its cells are done, the
/// total of which is 0 until they are known. What it throws ends the build.
using ShowStep = std::function<void(const std::string& what, const Share& cells)>;

/// By several processes, wherever they are, each of which has its share of the scene. Of the scene
/// this one makes or reads a piece at a time, for the file.
/// @param options of which scene, parts, configuration, file and time limit count.
/// @param folder for files, which is there and empty. @param make a process of a part.
/// @throws scenes::SceneError, std::runtime_error for what goes wrong with them, and what `make`
/// throws.
void build_by_peers(const BuildOptions& options, const std::filesystem::path& folder,
                    const MakePeer& make, kdtree::TreeWriter& writer, ForestReport& report,
                    const ShowStep& show);

/// By several processes of this program (app/distributed/remote_workers.h), each of which has its
/// share of the scene, with files in a folder beside that of the tree. @throws what
/// build_by_peers() does, and Interrupted.
void build_by_processes(const BuildOptions& options, const Interrupts& interrupts,
                        kdtree::TreeWriter& writer, ForestReport& report);

}  // namespace heapwood::app
