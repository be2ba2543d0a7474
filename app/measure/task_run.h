/// @file
/// A turn while it lasts: what its kinds have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/measure/task.h"

namespace heapwood::app {

/// Thrown to end a turn that cannot go on.
struct Stop {
    Outcome outcome;
    std::string message;
};

/// A turn.
class TaskRun {
public:
    virtual ~TaskRun() = default;

    /// Takes it. @throws Stop, and what making a pool and launching workloads throw.
    virtual TaskResult take() = 0;
    /// After a Stop: frees what is still there, for CUDA's heap outlives its pool.
    virtual void clean_up() = 0;
    /// The counts of all callers until then.
    virtual allocators::Counts counts() const = 0;
};

/// @throws Stop if a block was corrupt or, if `refusals` are failures, a request refused.
void judge(const allocators::Counts& seen, bool refusals);

/// Makes a turn and takes it. Whatever is thrown becomes the result's outcome and message.
TaskResult attempt(const std::function<std::unique_ptr<TaskRun>()>& make);

}  // namespace heapwood::app
