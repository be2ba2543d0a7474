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
inline Runner runner_of(const Backend& backend) {
    return {.name = backend.traits.name,
            .title = backend.traits.title,
            .full = backend.traits.full,
            .backend = &backend};
}
inline Runner prefix_sum_runner() {
    return {.name = "prefix-sum", .title = "without an allocator: a prefix sum over the sizes"};
}

/// Whether a process can have the runner's heap in one size only, which it keeps: CUDA's on a GPU.
inline bool has_lasting_heap(const Runner& runner) {
    return !runner.baseline() && runner.backend->gpu && runner.backend->traits.one_heap;
}

}  // namespace heapwood::app
