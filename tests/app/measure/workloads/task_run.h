/// @file
/// Tasks of `bench` on the program's allocators, for tests.
#pragma once

#include <string>

#include "app/backends/backend.h"
#include "app/backends/workload_machine.h"
#include "app/measure/workloads/perform.h"

namespace heapwood::tests {

/// A task for an allocator of the program, or for none, by two threads.
/// @param graph of the subject
inline app::TaskResult run_on_cpu(const std::string& allocator, const app::Task& task,
                                  const app::Graph* graph = nullptr) {
    const auto machine = app::cpu_workloads(2);
    if (allocator.empty()) {
        return app::perform({.machine = *machine, .threads = 2, .graph = graph}, task);
    }
    const app::Backend* backend = app::find_backend(allocator, false);
    return app::perform({.machine = *machine,
                         .make = backend->make_pool,
                         .frees = backend->traits.frees_individually,
                         .threads = 2,
                         .graph = graph},
                        task);
}

}  // namespace heapwood::tests
