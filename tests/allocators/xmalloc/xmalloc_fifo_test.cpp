/// @file
/// XMalloc's queues: against a std::deque, by many threads at once, and with calls that are
/// stalled.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "allocators/xmalloc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/specimens/published_stress.h"

namespace heapwood::tests {

namespace {

using allocators::XMallocPolicy;
using allocators::xmalloc::Fifo;
using allocators::xmalloc::FifoEnds;
using allocators::xmalloc::FifoSlot;

/// A queue with its memory.
template <class Policy>
struct Queue {
    explicit Queue(std::uint32_t log2_slots)
        : slots(std::size_t{1} << log2_slots), fifo(ends, slots.data(), log2_slots) {}

    FifoEnds ends{};
    std::vector<FifoSlot> slots;
    Fifo<Policy> fifo;
};

TEST(XMallocFifo, AgreesWithADeque) {
    Dice dice{test_seed()};
    for (const std::uint32_t log2_slots : {0U, 1U, 3U, 8U}) {
        Queue<XMallocPolicy> queue(log2_slots);
        std::deque<std::uint32_t> model;
        std::uint64_t full = 0;
        std::uint64_t empty = 0;
        for (unsigned i = 0; i < 20000; ++i) {
            // Now more goes in, now more comes out.
            if (dice.below(5) < 2 + i / 3000 % 2) {
                const auto value = static_cast<std::uint32_t>(dice.next() | 1);
                const bool room = model.size() < queue.slots.size();
                ASSERT_EQ(queue.fifo.push(value), room);
                if (room) model.push_back(value);
                full += room ? 0 : 1;
            } else if (model.empty()) {
                ASSERT_EQ(queue.fifo.pop(), 0U);
                ++empty;
            } else {
                ASSERT_EQ(queue.fifo.pop(), model.front());
                model.pop_front();
            }
        }
        EXPECT_GT(full, 0U);
        EXPECT_GT(empty, 0U);
    }
}

/// Threads push numbers of their own in ascending order, and pop. Nothing is lost or doubled, what
/// was written before a push is seen after the pop, and of any one thread's numbers every thread
/// pops later ones later.
template <class Policy>
void pass_around(std::uint32_t log2_slots) {
    constexpr std::uint32_t kThreads = 4;
    constexpr std::uint32_t kEach = 3000;
    Queue<Policy> queue(log2_slots);
    std::vector<std::uint64_t> payload(kThreads * kEach + 1);
    std::vector<std::vector<std::uint32_t>> popped(kThreads);
    std::atomic<std::uint32_t> left{kThreads * kEach};
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint32_t next = 0; left.load(std::memory_order_relaxed) > 0;) {
                const std::uint32_t value = t * kEach + next + 1;
                if (next < kEach) {
                    payload[value] = value * 7U;
                    if (queue.fifo.push(value)) ++next;
                }
                if (const std::uint32_t got = queue.fifo.pop()) {
                    if (payload[got] != got * 7U) wrong.fetch_add(1);
                    payload[got] = 0;
                    popped[t].push_back(got);
                    left.fetch_sub(1, std::memory_order_relaxed);
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong.load(), 0U);
    std::vector<std::uint32_t> all;
    for (const auto& list : popped) {
        std::vector<std::uint32_t> last(kThreads, 0);
        for (const std::uint32_t value : list) {
            EXPECT_GT(value, last[(value - 1) / kEach]) << "not first in, first out";
            last[(value - 1) / kEach] = value;
            all.push_back(value);
        }
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), kThreads * kEach);
    for (std::uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i + 1) << "lost or doubled";
    EXPECT_EQ(queue.fifo.pop(), 0U);
}

TEST(XMallocFifo, LosesAndDoublesNothing) {
    for (const std::uint32_t log2_slots : {0U, 1U, 4U, 8U}) pass_around<XMallocPolicy>(log2_slots);
}
TEST(XMallocFifo, LosesAndDoublesNothingWhenThreadsAreStalled) {
    for (const std::uint32_t log2_slots : {0U, 1U, 4U}) {
        pass_around<Stalling<XMallocPolicy>>(log2_slots);
    }
}

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct HookedPolicy : XMallocPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static void pause() { Interruptible::pause(); }
};

TEST(XMallocFifo, DoesNotWaitForAStalledThread) {
    for (const bool pushes : {true, false}) {
        for (unsigned step = 0; step < 3; ++step) {
            Queue<HookedPolicy> queue(2);
            EXPECT_TRUE(queue.fifo.push(1));
            EXPECT_TRUE(queue.fifo.push(2));
            unsigned steps = 0;
            Interruptible::hook = [&] {
                if (steps++ != step) return;
                EXPECT_NE(queue.fifo.pop(), 0U) << "stalled at step " << step;
                EXPECT_TRUE(queue.fifo.push(3)) << "stalled at step " << step;
            };
            if (pushes) {
                EXPECT_TRUE(queue.fifo.push(4));
            } else {
                EXPECT_NE(queue.fifo.pop(), 0U);
            }
            EXPECT_GT(steps, step);
            Interruptible::hook = nullptr;
        }
    }
}

/// Every push and pop may be stalled while others run; a deque of what has gone in for certain.
TEST(XMallocFifo, StalledCallsHarmNobody) {
    Dice dice{test_seed()};
    for (unsigned world = 0; world < 200 && !HasFailure(); ++world) {
        Queue<HookedPolicy> queue(world % 4);
        std::multiset<std::uint32_t> in;  // pushed, or being pushed
        std::uint32_t next = 0;
        unsigned depth = 0;
        unsigned left = 300;
        std::function<void()> call = [&] {
            if (left == 0) return;
            --left;
            if (dice.below(2) == 0) {
                const std::uint32_t value = ++next;
                in.insert(value);
                if (!queue.fifo.push(value)) in.erase(value);
            } else if (const std::uint32_t value = queue.fifo.pop()) {
                EXPECT_EQ(in.erase(value), 1U) << "never pushed, or popped twice";
            }
        };
        Interruptible::hook = [&] {
            if (depth == 4 || dice.below(3) != 0) return;
            ++depth;
            for (std::uint64_t n = 1 + dice.below(4); n > 0; --n) call();
            --depth;
        };
        while (left > 0) call();
        Interruptible::hook = nullptr;
        for (std::size_t n = in.size(); n > 0; --n) EXPECT_EQ(in.erase(queue.fifo.pop()), 1U);
        EXPECT_EQ(queue.fifo.pop(), 0U) << "world " << world;
    }
}

}  // namespace

}  // namespace heapwood::tests
