/// @file
/// The verbs. Each turns options into library calls and prints what they found.
#pragma once

#include <vector>

#include "app/backends/backend.h"
#include "app/cli.h"
#include "app/exit_code.h"

namespace heapwood::app {

/// Loads a scene, builds its tree with every allocator asked for, and reports. An allocator that
/// fails does not keep the others from their turn; its failure is the exit code.
/// @param available the backends to choose among.
/// @throws UsageError, NoDevice, scenes::SceneError, std::bad_alloc.
ExitCode build(const BuildOptions& options,
               const std::vector<const Backend*>& available = backends());

/// Lists allocators, generators and devices. @throws UsageError.
ExitCode list(const ListOptions& options);

}  // namespace heapwood::app
