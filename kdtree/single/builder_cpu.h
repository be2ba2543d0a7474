/// @file
/// The builder on a CPU: each thread is a warp of width 1.
#pragma once

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "kdtree/single/build_driver.h"
#include "kdtree/single/build_worker.cuh"

namespace heapwood::kdtree {

/// The machine of a CPU build.
class CpuMachine {
public:
    /// `threads`: how many, 0 for one a core.
    explicit CpuMachine(unsigned threads)
        : threads_(threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency())) {}

    allocators::Place place() const { return allocators::Place::host; }
    std::uint32_t warps() const { return threads_; }
    std::uint32_t multiprocessors() const { return threads_; }

    template <class A>
    double run(const Problem& problem, const typename A::Ref& allocator) const {
        const auto start = std::chrono::steady_clock::now();
        const auto work = [&](std::uint32_t number) {
            Scratch<platform::SerialWarp> scratch;
            allocators::CallerCache cache{};
            BuildWorker<platform::SerialWarp, A> worker(
                {}, problem, allocator, {.multiprocessor = number, .warp = number, .cache = &cache},
                scratch);
            worker.run();
        };
        std::vector<std::thread> others;
        others.reserve(threads_);
        try {
            for (unsigned i = 1; i < threads_; ++i) others.emplace_back(work, i);
        } catch (const std::system_error&) {
            // The system gives no more threads; those that there are do all of the work.
        }
        work(0);
        for (std::thread& t : others) t.join();
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count();
    }

    template <class A>
    void describe(BuildResult&) const {}

private:
    unsigned threads_;
};

/// Builds the tree of a scene on this machine's CPU. See drive() for errors.
template <allocators::Allocator A>
BuildResult build_on_cpu(const scenes::Scene& scene, const BuildConfig& config,
                         const RunOptions& options) {
    return drive<A>(CpuMachine(options.threads), scene, config, options);
}

}  // namespace heapwood::kdtree
