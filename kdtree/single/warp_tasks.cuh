/// @file
/// One warp's tasks: its own on a stack, and those that it gives to idle warps or is given when it
/// idles; and when the build is done, or has failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/platform/warp.cuh"
#include "kdtree/build_result.h"
#include "kdtree/single/build_state.cuh"

namespace heapwood::kdtree {

/// A warp keeps the children of its nodes on the stack, and gives the oldest away when others idle:
/// these are mostly the largest.
template <platform::Warp W>
class WarpTasks {
public:
    /// Refers to the problem.
    HEAPWOOD_FN WarpTasks(const W& warp, const Problem& problem, std::uint32_t warp_number)
        : warp_(warp),
          state_(*problem.state),
          queue_(problem.slots, problem.slot_bits, &problem.state->queue_head,
                 &problem.state->queue_tail),
          stack_(problem.stacks + static_cast<std::size_t>(warp_number) * kStackSize),
          idle_(problem.warps - 1) {}

    /// Whether this warp knows that the build has failed: from then on it only frees what it meets.
    HEAPWOOD_INLINE bool failed() const { return failed_; }
    HEAPWOOD_INLINE void fail() { failed_ = true; }
    /// About how many warps idled when this one last looked.
    HEAPWOOD_INLINE std::uint32_t idle() const { return idle_; }

    /// Puts a task on the stack, `above` places above its top. One lane calls it; all see the task
    /// after `grow` and a sync.
    HEAPWOOD_INLINE void put(std::uint32_t above, const Task& task) const {
        stack_[top_ + above] = task;
    }
    HEAPWOOD_INLINE void grow(std::uint32_t tasks) { top_ += tasks; }

    /// Takes the newest task from the stack; false if it is empty.
    HEAPWOOD_INLINE bool pop(Task& task) {
        if (top_ == bottom_) return false;
        task = stack_[--top_];
        return true;
    }

    /// Collective: gives back the credits for what this warp has done, and waits for a task that
    /// another warp gives. False: the build is done.
    HEAPWOOD_FN bool wait_for(Task& task) {
        top_ = bottom_ = 0;
        std::uint32_t ticket = 0;
        if (leader()) {
            if (credits_ > 0 && state_.outstanding.ref().sub_acq_rel(credits_) == credits_) {
                state_.done.ref().store_release(1);
            }
            ticket = queue_.take_ticket();
        }
        credits_ = 0;
        ticket = warp_.shuffle(ticket, 0);
        // The whole warp sleeps between looks, to leave the multiprocessor to warps that work.
        for (unsigned n = 0;; ++n) {
            bool found = false;
            bool done = false;
            if (leader()) {
                found = queue_.poll(ticket);
                // Everybody polls this one word, so not at every turn.
                done = n % 4 == 0 && state_.done.ref().load_relaxed() != 0;
            }
            if (warp_.any(found)) break;
            if (warp_.any(done)) return false;
            W::back_off(n);
        }
        warp_.sync();
        task = queue_.task_of(ticket);
        warp_.sync();
        if (leader()) queue_.release(ticket);
        if (task.job == nullptr) credits_ = 1;
        return true;
    }

    /// The warp finishes a job: the job's credit becomes the warp's.
    HEAPWOOD_INLINE void take_credit() { ++credits_; }
    /// The next call of `share` looks whether others idle.
    HEAPWOOD_INLINE void share_soon() { until_share_ = 1; }

    /// Collective: now and then, gives this warp's oldest tasks to idle warps, and looks whether
    /// the build has failed. `move_out(piece)` makes a piece fit for another warp, or returns
    /// false.
    template <class MoveOut>
    HEAPWOOD_FN void share(MoveOut move_out) {
        if (--until_share_ > 0) return;
        look_around();
        until_share_ = idle_ > 0 ? 1 : kSharePeriod;
        // What this warp still has is only to be freed, and may be without a decision.
        if (failed_) return;
        for (; may_give_ > 0 && top_ - bottom_ > 1; --may_give_, ++bottom_) {
            Task task = stack_[bottom_];
            if (!move_out(task.piece)) return;
            queue_.give(warp_, task, 1,
                        [&](std::uint32_t) { state_.outstanding.ref().add_relaxed(1); });
        }
    }

    /// Collective: updates what this warp knows of the others: about how many idle, and whether the
    /// build has failed.
    HEAPWOOD_FN void look_around() {
        bool failed = false;
        if (leader()) {
            idle_ = queue_.waiting();
            failed = ends_build(static_cast<Status>(state_.status.ref().load_relaxed()));
        }
        failed_ = warp_.any(failed);
        idle_ = warp_.shuffle(idle_, 0);
        may_give_ = idle_ < TaskQueue<Task>::kMostGiven ? idle_ : TaskQueue<Task>::kMostGiven;
    }

    /// Collective: offers a job, of which `chunks_left` chunks are not taken yet, to the warps last
    /// seen idle, to no more of them in all than it has chunks: an invitation that comes too late
    /// keeps its taker, and all tasks behind it, from real work.
    HEAPWOOD_FN void invite_to(Job& job, std::uint32_t chunks_left) {
        std::uint32_t wanted = may_give_ < chunks_left - 1 ? may_give_ : chunks_left - 1;
        if (wanted == 0) return;
        may_give_ -= wanted;
        if (leader()) {
            const std::uint32_t before = job.invited.ref().add_relaxed(wanted);
            const std::uint32_t rest = before < job.chunks - 1 ? job.chunks - 1 - before : 0;
            wanted = wanted < rest ? wanted : rest;
        }
        wanted = warp_.shuffle(wanted, 0);
        queue_.give(warp_, Task{&job, Piece{}}, wanted, [](std::uint32_t) {});
    }

private:
    /// A warp that has seen nobody idle looks again after this many small nodes, or one larger.
    static constexpr std::uint32_t kSharePeriod = 16;

    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    const W warp_;
    BuildState& state_;
    const TaskQueue<Task> queue_;
    Task* const stack_;
    std::uint32_t bottom_ = 0;
    std::uint32_t top_ = 0;
    std::uint32_t credits_ = 0;  ///< held by this warp (leader's count is what matters)
    std::uint32_t until_share_ = kSharePeriod;
    std::uint32_t idle_;
    std::uint32_t may_give_ = 0;  ///< tasks it may give before it looks again
    bool failed_ = false;
};

}  // namespace heapwood::kdtree
