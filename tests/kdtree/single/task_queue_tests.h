/// @file
/// The queue hands every task to exactly as many warps as it says, with everything that was
/// written before, on any machine of tests/allocators/platform/machines.h.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "kdtree/single/task_queue.cuh"
#include "tests/allocators/platform/machines.h"

namespace heapwood::kdtree::tests {

/// Either one task of the test (a call, for several warps) or a node of a binary tree in an array
/// (for one).
struct QueuedTask {
    std::uint32_t number;
    std::uint32_t is_call;
    std::uint32_t check;  ///< mark_of(number): a torn or stale task does not have it
};

/// The shared state of a QueueBody.
struct QueueState {
    Counter head;
    Counter tail;
    Counter remaining;  ///< nodes not yet visited, and calls not yet heard
    Counter called;
    Counter heard;
    Counter given;  ///< tasks that went through the queue
    Counter wrong;  ///< tasks or marks that were not as written
};

HEAPWOOD_INLINE std::uint32_t mark_of(std::uint32_t number) {
    return number * 2654435761U + 1;
}

/// Visits all nodes of a complete binary tree from the root; who has two nodes gives one away.
struct QueueBody {
    TaskSlot<QueuedTask>* slots;
    std::uint32_t slot_bits;
    QueueState* state;
    std::uint32_t warps;
    std::uint32_t nodes;
    std::uint32_t* visits;  ///< of each node
    std::uint32_t* marks;   ///< written by the parent's visitor, without atomics

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const TaskQueue<QueuedTask> queue(slots, slot_bits, &state->head, &state->tail);
        // A path's siblings: one for each level of the tree.
        std::uint32_t stack[40];
        unsigned top = 0;
        if (w == 0) {
            stack[top++] = 0;
            // Begins when all others wait, or it could be done before they have come.
            for (unsigned n = 0; warp.lane() == 0 && queue.waiting() < warps - 1; ++n) {
                W::back_off(n);
            }
            warp.sync();
        }
        for (;;) {
            std::uint32_t number = 0;
            if (top > 0) {
                number = stack[--top];
            } else {
                QueuedTask task{};
                if (!wait(warp, queue, task)) return;
                if (task.check != mark_of(task.number)) count_wrong(warp);
                if (task.is_call != 0) {
                    hear(warp, task.number);
                    continue;
                }
                number = task.number;
            }
            visit(warp, number);
            for (std::uint32_t child = 2 * number + 1; child <= 2 * number + 2; ++child) {
                if (child < nodes) stack[top++] = child;
            }
            // Every 64th node is called out, to any number of warps.
            if (number % 64 == 0) call(warp, queue, number);
            if (top > 1 && give(warp, queue, stack[0])) {
                for (unsigned i = 1; i < top; ++i) stack[i - 1] = stack[i];
                --top;
            }
        }
    }

private:
    template <class W>
    HEAPWOOD_FN bool wait(const W& warp, const TaskQueue<QueuedTask>& queue,
                          QueuedTask& task) const {
        std::uint32_t ticket = 0;
        if (warp.lane() == 0) ticket = queue.take_ticket();
        ticket = warp.shuffle(ticket, 0);
        for (unsigned n = 0;; ++n) {
            bool found = false;
            bool done = false;
            if (warp.lane() == 0) {
                found = queue.poll(ticket);
                done = state->remaining.ref().load_relaxed() == 0;
            }
            if (warp.any(found)) break;
            if (warp.any(done)) return false;
            W::back_off(n);
        }
        warp.sync();
        task = queue.task_of(ticket);
        warp.sync();
        if (warp.lane() == 0) queue.release(ticket);
        return true;
    }

    template <class W>
    HEAPWOOD_FN void visit(const W& warp, std::uint32_t number) const {
        if (number != 0 && marks[number] != mark_of(number)) count_wrong(warp);
        // One lane marks each child, so that the queue must publish the writes of two lanes.
        for (unsigned i = warp.lane(); i < 2; i += W::width) {
            const std::uint32_t child = 2 * number + 1 + i;
            if (child < nodes) marks[child] = mark_of(child);
        }
        warp.sync();
        if (warp.lane() == 0) {
            platform::AtomicRef(visits[number]).add_relaxed(1);
            state->remaining.ref().sub_acq_rel(1);
        }
    }

    /// How many warps wait, but at most `wanted`; the same in every lane.
    template <class W>
    HEAPWOOD_FN static std::uint32_t seen_waiting(const W& warp, const TaskQueue<QueuedTask>& queue,
                                                  std::uint32_t wanted) {
        std::uint32_t seen = 0;
        if (warp.lane() == 0) seen = queue.waiting();
        seen = warp.shuffle(seen, 0);
        return seen < wanted ? seen : wanted;
    }

    template <class W>
    HEAPWOOD_FN void call(const W& warp, const TaskQueue<QueuedTask>& queue,
                          std::uint32_t number) const {
        const std::uint32_t given = seen_waiting(warp, queue, 1 + number / 64 % 20);
        std::uint32_t announced = 0;
        for (std::uint32_t i = 0; i < given; ++i) {
            queue.give(warp, QueuedTask{number, 1, mark_of(number)}, [&] {
                ++announced;
                state->remaining.ref().add_relaxed(1);
            });
        }
        if (warp.lane() != 0) return;
        if (announced != given) count_wrong(warp);
        state->called.ref().add_relaxed(given);
    }

    template <class W>
    HEAPWOOD_FN void hear(const W& warp, std::uint32_t number) const {
        if (number != 0 && marks[number] != mark_of(number)) count_wrong(warp);
        if (warp.lane() != 0) return;
        state->heard.ref().add_relaxed(1);
        state->remaining.ref().sub_acq_rel(1);
    }

    template <class W>
    HEAPWOOD_FN bool give(const W& warp, const TaskQueue<QueuedTask>& queue,
                          std::uint32_t number) const {
        if (seen_waiting(warp, queue, 1) == 0) return false;
        queue.give(warp, QueuedTask{number, 0, mark_of(number)}, [] {});
        if (warp.lane() == 0) state->given.ref().add_relaxed(1);
        return true;
    }

    template <class W>
    HEAPWOOD_FN void count_wrong(const W& warp) const {
        if (warp.lane() == 0) state->wrong.ref().add_relaxed(1);
    }
};

template <class Machine>
class TaskQueueTest : public ::testing::Test {
protected:
#if defined(__SANITIZE_THREAD__)
    static constexpr unsigned kWarps = Machine::Warp::width == 1 ? 8 : 3;
    static constexpr std::uint32_t kNodes = Machine::Warp::width == 1 ? 5000 : 60;
#elif defined(__CUDACC__)
    static constexpr unsigned kWarps = 512;
    static constexpr std::uint32_t kNodes = 1000000;
#else
    static constexpr unsigned kWarps = Machine::Warp::width == 1 ? 16 : 3;
    static constexpr std::uint32_t kNodes = Machine::Warp::width == 1 ? 200000 : 1000;
#endif

    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
    }
};

TYPED_TEST_SUITE_P(TaskQueueTest);

TYPED_TEST_P(TaskQueueTest, EveryTaskIsTakenOnce) {
    using T = TestFixture;
    using Queue = TaskQueue<QueuedTask>;
    const auto bits =
        static_cast<std::uint32_t>(std::bit_width(T::kWarps * (Queue::kMostGiven + 1)));
    typename TypeParam::template Array<TaskSlot<QueuedTask>> slots(std::size_t{1} << bits);
    typename TypeParam::template Array<QueueState> state(1);
    typename TypeParam::template Array<std::uint32_t> visits(T::kNodes);
    typename TypeParam::template Array<std::uint32_t> marks(T::kNodes);
    state[0].remaining.value = T::kNodes;
    TypeParam::run(T::kWarps, QueueBody{slots.data(), bits, state.data(), T::kWarps, T::kNodes,
                                        visits.data(), marks.data()});
    for (std::uint32_t i = 0; i < T::kNodes; ++i) ASSERT_EQ(visits[i], 1U) << "node " << i;
    EXPECT_EQ(state[0].wrong.value, 0U);
    EXPECT_GT(state[0].heard.value, 0U);
    EXPECT_EQ(state[0].heard.value, state[0].called.value);
    EXPECT_GT(state[0].given.value, 0U) << "nothing went through the queue";
}

REGISTER_TYPED_TEST_SUITE_P(TaskQueueTest, EveryTaskIsTakenOnce);

}  // namespace heapwood::kdtree::tests
