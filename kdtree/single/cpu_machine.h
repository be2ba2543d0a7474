/// @file
/// The machine of a build on a CPU: each thread is a warp of width 1.
#pragma once

#include <cstdint>

#include "allocators/platform/threads.h"
#include "kdtree/build_result.h"
#include "kdtree/single/build_worker.cuh"

namespace heapwood::kdtree {

class CpuMachine {
public:
    /// `threads`: how many, 0 for one a core.
    explicit CpuMachine(unsigned threads) : threads_(platform::thread_count(threads)) {}

    allocators::Place place() const { return allocators::Place::host; }
    std::uint32_t warps() const { return threads_; }
    std::uint32_t multiprocessors() const { return threads_; }

    template <class A>
    double run(const Problem& problem, const typename A::Ref& allocator) const {
        return platform::run_threads(threads_, [&](std::uint32_t thread, std::uint32_t) {
            Scratch<platform::SerialWarp> scratch;
            allocators::CallerCache cache{};
            BuildWorker<platform::SerialWarp, A> worker(
                {}, problem, allocator, {.multiprocessor = thread, .warp = thread, .cache = &cache},
                scratch);
            worker.run();
        });
    }

    template <class A>
    void describe(BuildResult&) const {}

private:
    unsigned threads_;
};

}  // namespace heapwood::kdtree
