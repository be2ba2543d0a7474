/// @file
/// Threads that stall at an allocator's dangerous points: the pause() of a policy.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "tests/allocators/bodies.h"

namespace heapwood::tests {

/// Sleeps for the shortest time, some 60 us, in `stalls` of 4096 calls. Each thread has dice of its
/// own. It does not yield: on a machine with other work a thread that yields is gone for a whole
/// time slice, and tests that take 2 s would take minutes.
inline void stall_now_and_then(std::uint64_t stalls = 32) {
    static std::atomic<std::uint64_t> threads{0};
    thread_local Dice dice{++threads};
    if (dice.below(4096) < stalls) std::this_thread::sleep_for(std::chrono::nanoseconds(1));
}

}  // namespace heapwood::tests
