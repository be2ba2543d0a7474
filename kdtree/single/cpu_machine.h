/// @file
/// The machine of a build on a CPU: each thread is a warp of width 1.
#pragma once

#include <cstdint>
#include <stop_token>
#include <utility>

#include "allocators/platform/threads.h"
#include "kdtree/build_result.h"
#include "kdtree/single/build_worker.cuh"
#include "kdtree/single/frame.cuh"

namespace heapwood::kdtree {

/// A build that ended before the call that began it did.
class EndedBuild {
public:
    explicit EndedBuild(double ms) : ms_(ms) {}
    double ms() const { return ms_; }

private:
    double ms_;
};

class CpuMachine {
public:
    /// `threads`: how many, 0 for one a core. `stop` is that of RunConfig.
    explicit CpuMachine(unsigned threads, std::stop_token stop = {})
        : threads_(platform::thread_count(threads)), stop_(std::move(stop)) {}

    allocators::Place place() const { return allocators::Place::host; }
    std::uint32_t warps() const { return threads_; }
    std::uint32_t cache_users() const { return 1; }
    std::uint32_t lanes() const { return platform::SerialWarp::width; }
    std::uint32_t multiprocessors() const { return threads_; }

    template <class A>
    EndedBuild launch(const Problem& problem, const typename A::Ref& allocator) const {
        // As a warp that gets no memory ends a build: the others see it, and free what they meet.
        const std::stop_callback interrupts(stop_, [&problem] {
            problem.state->status.ref().store_relaxed(
                static_cast<std::uint32_t>(Status::interrupted));
        });
        return EndedBuild(
            platform::run_threads(threads_, [&](std::uint32_t thread, std::uint32_t threads) {
                Scratch<platform::SerialWarp> scratch;
                allocators::CallerCache cache{};
                BuildWorker<platform::SerialWarp, SoloTeam, A> worker(
                    {}, {thread, threads}, problem, allocator,
                    {.multiprocessor = thread, .warp = thread, .cache = &cache}, scratch);
                worker.run();
            }));
    }
    template <class A>
    void enqueue(const Problem& problem, const typename A::Ref& allocator) const {
        launch<A>(problem, allocator);
    }

    /// A build has ended when launch() returns.
    void wait() const {}
    /// Reads a frame's triangles.
    void gather(const Frame& frame, float scale, Triangle* to, BuildState& state) const {
        platform::run_threads(threads_, [&](std::uint32_t thread, std::uint32_t threads) {
            gather_frame(frame, scale, thread, threads, to, state);
        });
    }
    /// Widens a box by a frame's triangles.
    void widen(const Frame& frame, WideningBox& box) const {
        platform::run_threads(threads_, [&](std::uint32_t thread, std::uint32_t threads) {
            widen_box(frame, thread, threads, box);
        });
    }

    template <class A>
    void describe(BuildResult&) const {}

private:
    unsigned threads_;
    std::stop_token stop_;
};

}  // namespace heapwood::kdtree
