/// @file
/// A turn while it lasts: what its kinds have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "allocators/memory/buffer.h"
#include "app/measure/workloads/perform.h"

namespace heapwood::app {

/// A turn with a pool of its own.
class TaskRun {
public:
    TaskRun(const Subject& subject, const Task& task) : subject_(subject), task_(task) {}
    virtual ~TaskRun() = default;
    TaskRun(const TaskRun&) = delete;
    TaskRun& operator=(const TaskRun&) = delete;

    /// Takes it. Whatever is thrown becomes the result's outcome and message.
    TaskResult result();

protected:
    using Clock = std::chrono::steady_clock;

    /// What launches write besides blocks.
    struct State {
        allocators::Counts counts;
        std::uint64_t next_slot;
        std::uint32_t refused;
        std::uint32_t unused;
    };

    /// Fills the result in. @throws Failure, and what making a pool and launching workloads throw.
    virtual void take() = 0;
    /// After a Failure: frees what is still there, for CUDA's heap outlives its pool.
    virtual void clean_up() = 0;

    /// The cold iteration, warm ones, and one that is counted and checked in full, whose metrics do
    /// not stay.
    void iterate(const std::function<void()>& iteration);
    void make_pool(std::uint64_t largest_request, std::uint32_t callers);
    /// A launch of the task's callers.
    allocators::Workload workload(allocators::Work work, allocators::Stamps stamps) const;
    State state() const;
    /// Takes over what the callers have counted.
    /// @throws Failure if a block was corrupt or, if `refusals` are failures, a request refused.
    void judge(bool refusals = true);

    void add(const char* metric, double value) {
        Samples& samples = result_.metrics[metric];
        (warm_ ? samples.warm : samples.cold).push_back(value);
    }
    void add_value(const char* metric, double value) {
        result_.metrics[metric].value.push_back(value);
    }
    static double ms_since(Clock::time_point start) {
        return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }

    const Subject& subject_;
    const Task& task_;
    allocators::Buffer state_;
    std::unique_ptr<WorkloadPool> pool_;  ///< nullptr: the way without an allocator
    bool held_ = false;                   ///< whether slots hold blocks that are in use
    bool warm_ = false;                   ///< whether samples are those of warm iterations
    bool counting_ = false;               ///< whether launches count and stamp all
    TaskResult result_;
};

}  // namespace heapwood::app
