#include "app/measure/workloads/task_run.h"

#include <utility>

#include "app/base/text.h"

namespace heapwood::app {

TaskResult TaskRun::result() {
    allocators::Counts counted{};
    try {
        try {
            state_ = allocators::Buffer(subject_.machine.place(), sizeof(State));
            state_.zero();
            take();
            return std::move(result_);
        } catch (const Failure& failure) {
            counted = result_.counts;
            // A pool that was overwritten is left alone: freeing could take the process down.
            if (failure.outcome != Outcome::corrupt) clean_up();
            throw;
        }
    } catch (...) {
        const Failure failure = failure_in_flight();
        return {.outcome = failure.outcome, .message = failure.message, .counts = counted};
    }
}

void TaskRun::iterate(const std::function<void()>& iteration) {
    const auto start = Clock::now();
    iteration();
    warm_ = true;
    for (std::uint32_t i = 0; i < task_.iterations; ++i) {
        if (i > 0 && ms_since(start) > task_.budget_ms) break;
        iteration();
    }
    const auto measured = result_.metrics;
    counting_ = true;
    iteration();
    result_.metrics = measured;
}

void TaskRun::make_pool(std::uint64_t largest_request, std::uint32_t callers) {
    pool_ = subject_.make({.place = subject_.machine.place(),
                           .bytes = task_.pool_bytes,
                           .largest_request = largest_request,
                           .multiprocessors = subject_.machine.multiprocessors(),
                           .callers = callers,
                           .choices = subject_.choices},
                          subject_.threads);
    result_.pool_bytes = pool_->pool_bytes();
}

allocators::Workload TaskRun::workload(allocators::Work work, allocators::Stamps stamps) const {
    auto* state = state_.as<State>();
    return {.work = work,
            .stamps = stamps,
            .lanes = task_.lanes,
            .count = counting_,
            .callers = task_.callers,
            .requests = task_.requests,
            .threshold = task_.threshold,
            .counts = &state->counts,
            .next_slot = &state->next_slot,
            .refused = &state->refused};
}

TaskRun::State TaskRun::state() const {
    State state;
    state_.read(0, &state, sizeof(state));
    return state;
}

void TaskRun::judge(bool refusals) {
    const allocators::Counts& seen = result_.counts = state().counts;
    if (seen.corrupt != 0) {
        throw Failure{Outcome::corrupt,
                      "blocks were overwritten while they were in use: at least " +
                          grouped(seen.corrupt) + " of them"};
    }
    if (refusals && seen.failed != 0) {
        throw Failure{Outcome::out_of_pool, grouped(seen.failed) +
                                                " requests of an iteration were refused; try a "
                                                "larger --pool"};
    }
}

}  // namespace heapwood::app
