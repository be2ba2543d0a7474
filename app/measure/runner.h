/// @file
/// Runners: what turns are taken with, each in a process of its own.
#pragma once

#include <string>

#include "app/backends/backend.h"

namespace heapwood::app {

/// An allocator, a builder without an allocator, or the prefix sum.
struct Runner {
    std::string name;
    std::string title;
    bool full = true;                  ///< false: carries the papers' asterisk
    const Backend* backend = nullptr;  ///< nullptr: the prefix sum

    bool baseline() const { return backend == nullptr; }
};

/// A backend's runner, and that of the prefix sum.
Runner runner_of(const Backend& backend);
Runner prefix_sum_runner();

/// Whether a process can have the runner's heap in one size only, which it keeps: CUDA's on a GPU.
bool has_lasting_heap(const Runner& runner);

}  // namespace heapwood::app
