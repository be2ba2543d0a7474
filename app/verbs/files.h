/// @file
/// The files that a run reads and writes. All verbs' are here, so that no output is an input.
#pragma once

#include <string>
#include <vector>

#include "app/base/output.h"
#include "app/cli/cli.h"

namespace heapwood::app {

struct RunFiles {
    std::vector<NamedFile> inputs;
    std::vector<NamedFile> outputs;  ///< those that are kept beside results included
};

/// What the verb reads and writes. Lists of scenes are read, and patterns of frames looked up; what
/// cannot be read is no error here. @throws UsageError for frames that are none.
RunFiles files_of(const BuildOptions& options);
RunFiles files_of(const CompareOptions& options);
RunFiles files_of(const BenchOptions& options);
RunFiles files_of(const ReplayOptions& options);
RunFiles files_of(const TraceOptions& options);
RunFiles files_of(const RenderOptions& options);
RunFiles files_of(const InspectOptions& options);
RunFiles files_of(const ListOptions& options);

/// The files of a scene, as load() or a tree file has it.
std::vector<NamedFile> files_of_scene(const std::string& name);

}  // namespace heapwood::app
