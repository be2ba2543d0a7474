/// @file
/// The verbs: each turns options into library calls and prints what they found. And the program
/// that runs them. `available` are the backends to choose among; where work is done by processes,
/// they are this executable again.
#pragma once

#include <vector>

#include "app/backends/backend.h"
#include "app/base/exit_code.h"
#include "app/cli/cli.h"

namespace heapwood::app {

using Backends = std::vector<const Backend*>;

/// What main() does: reads the command line, runs the verb, and turns errors into exit codes.
ExitCode run(int argc, const char* const* argv, const Backends& available = backends());

/// Loads a scene, builds its tree with every allocator asked for, and reports. An allocator that
/// fails does not keep the others from their turn; its failure is the exit code.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc.
ExitCode build(const BuildOptions& options, const Backends& available = backends());

/// What build does for --memory: builds the tree in parts, without an allocator, and writes it to a
/// file as it grows.
/// @throws UsageError, NoDevice, scenes::SceneError, kdtree::TreeFileError,
/// allocators::BufferError.
ExitCode build_in_parts(const BuildOptions& options);

/// Builds every scene with every allocator and pool, the allocators taking turns, each in a process
/// of its own, and reports.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc before the work begins.
ExitCode compare(const CompareOptions& options, const Backends& available);

/// Runs the tests asked for with every allocator asked for, each in a process of its own that is
/// killed when it takes too long, and reports.
/// @throws UsageError, NoDevice.
ExitCode bench(const BenchOptions& options, const Backends& available);

/// Replays a trace with every allocator asked for, each in a process of its own, as bench does, and
/// reports.
/// @throws UsageError, NoDevice, InputError, scenes::SceneError.
ExitCode replay(const ReplayOptions& options, const Backends& available);

/// What a worker process of compare, bench and replay does, until its parent is gone.
ExitCode worker(const WorkerOptions& options, const Backends& available);

/// Builds a scene's trees, times rays of every kind through them, and reports.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc.
ExitCode trace(const TraceOptions& options, const Backends& available);

/// Makes a picture of a scene, through a tree that is read or built, and reports.
/// @throws UsageError, NoDevice, scenes::SceneError, kdtree::TreeFileError, std::bad_alloc.
ExitCode render(const RenderOptions& options, const Backends& available);

/// Looks into a tree that is read or built, and reports.
/// @throws UsageError, NoDevice, scenes::SceneError, kdtree::TreeFileError, std::bad_alloc.
ExitCode inspect(const InspectOptions& options, const Backends& available);

/// Lists allocators, generators and devices. @throws UsageError.
ExitCode list(const ListOptions& options, const Backends& available);

}  // namespace heapwood::app
