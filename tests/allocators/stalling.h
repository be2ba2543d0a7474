/// @file
/// Threads that stall at an allocator's dangerous points: the pause() of a policy.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "tests/allocators/bodies.h"

namespace heapwood::tests {

/// Yields in `yields` of 4096 calls, and sleeps in one. Each thread has dice of its own.
inline void stall_now_and_then(std::uint64_t yields = 128) {
    static std::atomic<std::uint64_t> threads{0};
    thread_local Dice dice{++threads};
    const std::uint64_t roll = dice.below(4096);
    if (roll < yields) std::this_thread::yield();
    if (roll == 4095) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

}  // namespace heapwood::tests
