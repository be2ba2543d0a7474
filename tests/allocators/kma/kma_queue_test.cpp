/// @file
/// KMA's queue of free superblocks: against a std::deque, by many threads at once, and with calls
/// that are stalled.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/kma.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/specimens/published_stress.h"

namespace heapwood::tests {

namespace {

using allocators::KmaPolicy;
using allocators::kma::Node;
using allocators::kma::QueueEnds;

/// A queue of numbers below n, with its memory.
template <class Policy>
struct KmaQueue {
    using Queue = allocators::kma::Queue<Policy>;

    explicit KmaQueue(std::uint32_t n) : ends{n, n}, nodes(n + 1), queue(ends, nodes.data()) {
        for (std::uint32_t i = 0; i <= n; ++i) nodes[i] = Queue::first_node(i);
    }

    QueueEnds ends;
    std::vector<Node> nodes;
    Queue queue;
};
constexpr std::uint32_t kEmptyQueue = allocators::kma::Queue<KmaPolicy>::kEmpty;

TEST(KmaQueue, TagsLinks) {
    using namespace allocators::kma;
    const Link first = kNoNode;
    EXPECT_EQ(node_in(first), kNoNode);
    const Link second = next_link(first, 7);
    EXPECT_EQ(node_in(second), 7U);
    EXPECT_NE(next_link(second, 7), second) << "the same node, at another time";
    EXPECT_EQ(node_in(next_link(second, kNoNode)), kNoNode);
    const Link open = next_link(second, kNoNode);
    EXPECT_EQ(completed(open, 9) >> kTagShift, open >> kTagShift);
    EXPECT_EQ(node_in(completed(open, 9)), 9U);
}

TEST(KmaQueue, AgreesWithADeque) {
    Dice dice{test_seed()};
    for (const std::uint32_t n : {1U, 2U, 5U, 100U}) {
        KmaQueue<KmaPolicy> q(n);
        std::deque<std::uint32_t> model;
        std::vector<std::uint32_t> owned;
        for (std::uint32_t i = 0; i < n; ++i) owned.push_back(i);
        unsigned empty = 0;
        for (unsigned i = 0; i < 20000; ++i) {
            ASSERT_EQ(q.queue.is_empty(), model.empty());
            // Now more goes in, now more comes out.
            if (!owned.empty() && dice.below(5) < 2 + i / 3000 % 2) {
                std::swap(owned[dice.below(owned.size())], owned.back());
                q.queue.push(owned.back());
                model.push_back(owned.back());
                owned.pop_back();
            } else if (model.empty()) {
                ASSERT_EQ(q.queue.pop(), kEmptyQueue);
                ++empty;
            } else {
                ASSERT_EQ(q.queue.pop(), model.front());
                owned.push_back(model.front());
                model.pop_front();
            }
        }
        EXPECT_GT(empty, 0U);
    }
}

/// Threads push what they own, and own what they pop. Nothing is lost or doubled, what was written
/// before a push is seen after the pop, and of what any one thread pushes every thread pops later
/// ones later.
template <class Policy>
void pass_superblocks_around(std::uint32_t each) {
    constexpr std::uint32_t kThreads = 4;
    KmaQueue<Policy> q(kThreads * each);
    struct Payload {
        std::uint32_t pusher;
        std::uint32_t turn;
    };
    std::vector<Payload> payload(kThreads * each);
    std::vector<std::vector<std::uint32_t>> owned(kThreads);
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        for (std::uint32_t i = 0; i < each; ++i) owned[t].push_back(t * each + i);
        threads.emplace_back([&, t] {
            std::vector<std::uint32_t> last(kThreads, 0);
            Dice dice{test_seed() + t};
            for (std::uint32_t turn = 1; turn < 6000; ++turn) {
                if (!owned[t].empty() && dice.below(2) == 0) {
                    payload[owned[t].back()] = {t, turn};
                    q.queue.push(owned[t].back());
                    owned[t].pop_back();
                } else if (const std::uint32_t got = q.queue.pop(); got != kEmptyQueue) {
                    const Payload p = std::exchange(payload[got], Payload{0, 0});
                    if (p.turn <= last[p.pusher]) wrong.fetch_add(1);
                    last[p.pusher] = p.turn;
                    owned[t].push_back(got);
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong.load(), 0U);
    std::vector<std::uint32_t> all;
    for (const auto& some : owned) all.insert(all.end(), some.begin(), some.end());
    for (std::uint32_t i = q.queue.pop(); i != kEmptyQueue; i = q.queue.pop()) all.push_back(i);
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), kThreads * each);
    for (std::uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i) << "lost or doubled";
}

TEST(KmaQueue, LosesAndDoublesNothing) {
    for (const std::uint32_t each : {1U, 4U, 50U}) pass_superblocks_around<KmaPolicy>(each);
}
TEST(KmaQueue, LosesAndDoublesNothingWhenThreadsAreStalled) {
    for (const std::uint32_t each : {1U, 4U}) pass_superblocks_around<Stalling<KmaPolicy>>(each);
}

struct HookedQueuePolicy : KmaPolicy {
    static void pause() { Interruptible::pause(); }
};

TEST(KmaQueue, DoesNotWaitForAStalledThread) {
    for (const bool pushes : {true, false}) {
        for (unsigned step = 0; step < 4; ++step) {
            KmaQueue<HookedQueuePolicy> q(4);
            q.queue.push(1);
            q.queue.push(2);
            unsigned steps = 0;
            Interruptible::hook = [&] {
                if (steps++ != step) return;
                const std::uint32_t got = q.queue.pop();
                EXPECT_NE(got, kEmptyQueue) << "stalled at step " << step;
                q.queue.push(3);
                q.queue.push(got);
            };
            if (pushes) {
                q.queue.push(0);
            } else {
                EXPECT_NE(q.queue.pop(), kEmptyQueue);
            }
            Interruptible::hook = nullptr;
            EXPECT_GT(steps, step);
            unsigned left = 0;
            while (q.queue.pop() != kEmptyQueue) ++left;
            EXPECT_EQ(left, pushes ? 4U : 2U);
        }
    }
}

/// Every push and pop may be stalled while others run, so that nodes come back at either end, and
/// on the other side.
TEST(KmaQueue, StalledCallsHarmNobody) {
    Dice dice{test_seed()};
    for (unsigned world = 0; world < 200 && !HasFailure(); ++world) {
        const std::uint32_t n = 2 + world % 6;
        KmaQueue<HookedQueuePolicy> q(n);
        std::vector<std::uint32_t> owned;
        std::vector<bool> in(n, false);  // pushed, or being pushed
        for (std::uint32_t i = 0; i < n; ++i) owned.push_back(i);
        unsigned depth = 0;
        unsigned left = 300;
        const std::function<void()> call = [&] {
            if (left == 0) return;
            --left;
            if (!owned.empty() && dice.below(2) == 0) {
                const std::uint32_t value = owned.back();
                owned.pop_back();
                in[value] = true;
                q.queue.push(value);
            } else if (const std::uint32_t value = q.queue.pop(); value != kEmptyQueue) {
                EXPECT_TRUE(in[value]) << "never pushed, or popped twice";
                in[value] = false;
                owned.push_back(value);
            }
        };
        Interruptible::hook = [&] {
            if (depth == 4 || dice.below(3) != 0) return;
            ++depth;
            for (std::uint64_t i = 1 + dice.below(4); i > 0; --i) call();
            --depth;
        };
        while (left > 0) call();
        Interruptible::hook = nullptr;
        for (std::uint32_t i = q.queue.pop(); i != kEmptyQueue; i = q.queue.pop()) {
            EXPECT_TRUE(in[i]);
            owned.push_back(i);
        }
        EXPECT_EQ(owned.size(), n) << "world " << world;
    }
}

}  // namespace

}  // namespace heapwood::tests
