/// @file
/// Threads that crowd a small pool: all of it must be served, and a full one must refuse at once.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "tests/allocators/bodies.h"

namespace heapwood::tests {

/// A policy whose threads sleep at one in 16 dangerous points. A request has all patience: it is
/// refused only if it is certain that there is nothing.
template <class Policy>
struct Sleepy : Policy {
    static constexpr std::uint32_t kRounds = ~0U;
    static void pause() {
        thread_local Dice dice{std::hash<std::thread::id>()(std::this_thread::get_id())};
        if (dice.below(16) == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
};

/// 16 threads need all of a pool of A together, in blocks of one of these sizes at a time: none is
/// refused, and the pool is whole afterwards. A has a Sleepy policy.
template <allocators::Allocator A>
void expect_all_served(std::initializer_list<std::uint64_t> sizes) {
    constexpr std::uint64_t kPool = 32768;
    constexpr std::uint64_t kThreads = 16;
    for (const std::uint64_t bytes : sizes) {
        const A pool(allocators::PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        const std::uint64_t each = kPool / ref.granted_bytes(&pool, bytes) / kThreads;
        for (unsigned round = 0; round < 3; ++round) {
            std::atomic<std::uint64_t> refused{0};
            std::vector<std::thread> threads;
            std::vector<std::vector<void*>> blocks(kThreads);
            for (std::uint32_t t = 0; t < kThreads; ++t) {
                threads.emplace_back([&, t] {
                    for (std::uint64_t i = 0; i < each; ++i) {
                        blocks[t].push_back(ref.allocate({t, t}, bytes));
                        if (blocks[t].back() == nullptr) refused.fetch_add(1);
                    }
                });
            }
            for (std::thread& t : threads) t.join();
            EXPECT_EQ(refused.load(), 0U) << bytes << " bytes";
            for (const auto& some : blocks) {
                for (void* p : some) ref.deallocate({}, p, bytes);
            }
        }
        EXPECT_NE(ref.allocate({}, pool.pool_bytes()), nullptr);
    }
}

/// A policy that calls something at every pause, but not within that call, and counts all pauses.
template <class Policy>
struct Watched : Policy {
    static inline std::function<void()> then;
    static inline std::uint64_t pauses = 0;
    static void pause() {
        ++pauses;
        if (const std::function<void()> call = std::exchange(then, nullptr)) {
            call();
            then = call;
        }
    }
};

/// A request that searches a full pool of A, wherever it is stalled, does not hold up the refusal
/// of another one. A's policy is `Policy`, a Watched one.
template <allocators::Allocator A, class Policy>
void expect_refusals_at_once() {
    unsigned others = 0;
    for (const std::uint64_t bytes : {16U, 64U, 512U, 2048U}) {
        const A pool(allocators::PoolConfig{.bytes = 1U << 20, .multiprocessors = 4});
        const auto ref = pool.ref();
        while (ref.allocate({}, bytes) != nullptr) {
        }
        Policy::then = [&] {
            const std::uint64_t before = Policy::pauses;
            EXPECT_EQ(ref.allocate({1, 1}, bytes), nullptr);
            EXPECT_LT(Policy::pauses - before, 100U) << bytes << " bytes";
            ++others;
        };
        EXPECT_EQ(ref.allocate({}, bytes), nullptr);
        Policy::then = nullptr;
    }
    EXPECT_GT(others, 0U);
}

}  // namespace heapwood::tests
