/// @file
/// The verbs. Each turns options into library calls and prints what they found.
#pragma once

#include <vector>

#include "app/backends/backend.h"
#include "app/base/exit_code.h"
#include "app/cli/cli.h"

namespace heapwood::app {

/// Loads a scene, builds its tree with every allocator asked for, and reports. An allocator that
/// fails does not keep the others from their turn; its failure is the exit code.
/// @param available the backends to choose among.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc.
ExitCode build(const BuildOptions& options,
               const std::vector<const Backend*>& available = backends());

/// Builds every scene with every allocator and pool, the allocators taking turns, each in a process
/// of its own, and reports.
/// @param available the backends to choose among. A worker is this executable again.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc before the work begins.
ExitCode compare(const CompareOptions& options,
                 const std::vector<const Backend*>& available = backends());

/// Runs the tests asked for with every allocator asked for, each in a process of its own that is
/// killed when it takes too long, and reports.
/// @param available the backends to choose among. A worker is this executable again.
/// @throws UsageError, NoDevice.
ExitCode bench(const BenchOptions& options,
               const std::vector<const Backend*>& available = backends());

/// Replays a trace with every allocator asked for, each in a process of its own, as bench does, and
/// reports.
/// @param available the backends to choose among. A worker is this executable again.
/// @throws UsageError, NoDevice, TraceError, scenes::SceneError.
ExitCode replay(const ReplayOptions& options,
                const std::vector<const Backend*>& available = backends());

/// What a worker process of compare, bench and replay does, until its parent is gone.
/// @param available as that verb has them.
ExitCode worker(const WorkerOptions& options,
                const std::vector<const Backend*>& available = backends());

/// Builds a scene's trees, times rays of every kind through them, and reports.
/// @param available the backends to choose among.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc.
ExitCode trace(const TraceOptions& options,
               const std::vector<const Backend*>& available = backends());

/// Lists allocators, generators and devices. @throws UsageError.
ExitCode list(const ListOptions& options);

}  // namespace heapwood::app
