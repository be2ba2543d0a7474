/// @file
/// KMA's queue of free superblocks, step by step: two and three threads that push and pop, and
/// whose nodes come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/kma/queue.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/memory.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::kma_queue_scenarios {

namespace {

struct QuietPolicy {
    static void pause() {}
};
using Queue = allocators::kma::Queue<QuietPolicy>;

/// A queue of the numbers below kValues, of which the first ones are inside, and the others the
/// threads', as they say. Each number stands for memory, which its owner uses. Reported are: a
/// number that comes out twice or never; memory of which the owner does not see what was done
/// before; and numbers of one thread that another gets in another order.
class Subject {
public:
    static constexpr std::uint32_t kValues = 6;

    explicit Subject(std::uint32_t inside) {
        for (std::uint32_t i = 0; i <= kValues; ++i) nodes_[i] = Queue::first_node(i);
        for (std::uint32_t i = 0; i < inside; ++i) queue_.push(i);
        inside_ = inside;
    }

    void push(std::uint32_t value) {
        begin_operation("push", value);
        access(&memory_[value], sizeof(memory_[0]));
        queued_[value] = true;
        turns_[value] = thread() * 16 + ++turn_[thread()];
        queue_.push(value);
        end_operation(0);
    }
    /// @return Queue::kEmpty: nothing.
    std::uint32_t pop() {
        begin_operation("pop", 0);
        const std::uint32_t value = queue_.pop();
        if (value != Queue::kEmpty) {
            if (value >= kValues || !queued_[value]) fail("a number comes out twice");
            queued_[value] = false;
            access(&memory_[value], sizeof(memory_[0]));
            std::uint32_t& last = seen_[thread()][turns_[value] / 16];
            if (turns_[value] % 16 < last) fail("not first in, first out");
            last = turns_[value] % 16;
        }
        end_operation(value);
        return value;
    }
    std::uint32_t must_pop() {
        const std::uint32_t value = pop();
        if (value == Queue::kEmpty) fail("a number is inside that is not found");
        return value;
    }
    /// Pops a number, if there is one, and pushes it again.
    void turn() {
        const std::uint32_t value = pop();
        if (value != Queue::kEmpty) push(value);
    }

    Result explore(const std::vector<std::function<void(Subject&)>>& threads, const Bounds& bounds,
                   const Mutation& mutation = {}) {
        Program program;
        for (const auto& t : threads) program.threads.emplace_back([this, &t] { t(*this); });
        program.begin = [this] {
            for (std::uint32_t i = 0; i < kValues; ++i) queued_[i] = i < inside_;
            // Those that are inside at first are of a thread that there is not.
            for (std::uint32_t i = 0; i < kValues; ++i) turns_[i] = kThreads * 16 + i;
            std::fill_n(turn_, kThreads, 0U);
            for (auto& of : seen_) std::fill_n(of, kThreads + 1, 0U);
        };
        program.shared = [this] {
            std::uint64_t h = 0;
            for (std::uint32_t i = 0; i < kValues; ++i) h = mix(mix(h, queued_[i]), turns_[i]);
            for (const auto& of : seen_) {
                for (const std::uint32_t last : of) h = mix(h, last);
            }
            return h;
        };
        program.finish = [this] {
            std::uint32_t left = 0;
            for (const bool q : queued_) left += q ? 1 : 0;
            for (; left > 0; --left) must_pop();
            if (pop() != Queue::kEmpty) fail("a number comes from nowhere");
            // All numbers go once more through the nodes that they own.
            for (std::uint32_t i = 0; i < kValues; ++i) push(i);
            for (std::uint32_t i = 0; i < kValues; ++i) {
                if (pop() != i) fail("a node is lost");
            }
        };
        return explorer::explore(program, bounds, mutation);
    }

private:
    static constexpr std::uint32_t kThreads = 4;

    allocators::kma::QueueEnds ends_{kValues, kValues};
    alignas(16) allocators::kma::Node nodes_[kValues + 1];
    Queue queue_{ends_, nodes_};
    alignas(16) std::uint32_t memory_[kValues][4] = {};
    std::uint32_t inside_;
    bool queued_[kValues] = {};  ///< inside, or on the way there
    /// The thread that has pushed a number, * 16, plus how many it had pushed by then.
    std::uint32_t turns_[kValues] = {};
    std::uint32_t turn_[kThreads] = {};                ///< how many each thread has pushed
    std::uint32_t seen_[kThreads][kThreads + 1] = {};  ///< by each thread, the last one from each
};

struct QueueScenario {
    const char* name;
    std::uint32_t inside;
    std::vector<std::function<void(Subject&)>> threads;
};

std::vector<QueueScenario> scenarios() {
    using S = Subject;
    const auto push_5 = [](S& s) { s.push(5); };
    const auto push_4 = [](S& s) { s.push(4); };
    const auto push_two = [](S& s) {
        s.push(3);
        s.push(2);
    };
    const auto pop = [](S& s) { s.pop(); };
    const auto must_pop = [](S& s) { s.must_pop(); };
    const auto pop_two = [](S& s) {
        s.pop();
        s.pop();
    };
    const auto turn = [](S& s) { s.turn(); };
    const auto turn_twice = [](S& s) {
        s.turn();
        s.turn();
    };
    return {
        {"both push", 0, {push_5, push_4}},
        {"both pop the last one", 1, {pop, pop}},
        {"each must get one", 2, {must_pop, must_pop}},
        {"one pushes as another pops nothing, or that", 0, {push_5, pop_two}},
        {"one pushes as another pops the last one", 1, {push_5, pop_two}},
        {"one pushes two as another pops two", 0, {push_two, pop_two}},
        {"a node comes back to the tail as a push is late", 1, {push_5, turn_twice}},
        {"a node comes back to the tail, and a push behind it",
         0,
         {push_5,
          [](S& s) {
              s.push(4);
              s.turn();
              s.turn();
          }}},
        // The other thread has one number at most, so one is inside.
        {"a node is about to come back to the tail as a push is late, which is done when it ends",
         1,
         {[](S& s) {
              s.push(5);
              s.must_pop();
          },
          turn_twice}},
        {"a node comes back to the head as a pop is late",
         2,
         {pop,
          [](S& s) {
              s.turn();
              s.turn();
              s.turn();
          }}},
        {"both pop, and push it again", 2, {turn, turn_twice}},
        {"one pushes, one passes on, one pops", 0, {push_5, turn, pop_two}},
        {"two push as one pops", 1, {push_5, push_4, pop_two}},
        {"two pop as one pushes", 1, {push_5, turn, pop}},
    };
}

Bounds bounds_of(const QueueScenario& s) {
    return {.preemptions = s.threads.size() == 2 ? 4U : 2U, .stale_reads = 1};
}
Result run(const QueueScenario& s, const Mutation& mutation = {}) {
    return Subject(s.inside).explore(s.threads, bounds_of(s), mutation);
}

TEST(KmaQueueExplorer, IsSound) {
    for (const QueueScenario& s : scenarios()) {
        expect_nothing_found(run(s), s.name);
    }
}

/// Breaks every source line of the queue in every way that applies to it, one at a time.
TEST(KmaQueueExplorer, FindsFaults) {
    Places places;
    for (const QueueScenario& s : scenarios()) add_places(places, run(s), {"queue.cuh"});
    auto found = break_each(places,
                            [](const Mutation& m) {
                                return first_broken(
                                    scenarios(), [&](const QueueScenario& s) { return run(s, m); });
                            },
                            {Fault::no_acquire, Fault::no_release, Fault::torn, Fault::lost});
    EXPECT_EQ(found[Fault::none], 0U);
    // Reading the tail, and the last link; reading the head, and what follows it.
    EXPECT_EQ(found[Fault::no_acquire], 4U);
    // A node's new tag; the last link, the head, and the tail.
    EXPECT_EQ(found[Fault::no_release], 4U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::kma_queue_scenarios
