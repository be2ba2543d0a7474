/// @file
/// The clock by which single calls are timed, and the one that all callers share.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

#if !defined(__CUDA_ARCH__)
#include <chrono>
#include <thread>
#endif

namespace heapwood::platform {

/// Nanoseconds, the same for all callers of a machine at one moment: on a GPU by the timer of the
/// device, which goes in steps. Never 0.
HEAPWOOD_INLINE std::uint64_t nanoseconds() {
#if defined(__CUDA_ARCH__)
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
#else
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
#endif
}

/// Pauses the calling thread until nanoseconds() are `time` at least. @return what they are then.
HEAPWOOD_FN inline std::uint64_t wait_until(std::uint64_t time) {
    std::uint64_t now = nanoseconds();
    for (; now < time; now = nanoseconds()) {
        const std::uint64_t left = time - now;
        // Either sleep may last longer than asked for; the last part is waited for awake.
#if defined(__CUDA_ARCH__)
        if (left > 2000) __nanosleep(static_cast<unsigned>(left < 1000000 ? left / 2 : 500000));
#else
        if (left > 1000000) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(left - 500000));
        } else {
            std::this_thread::yield();
        }
#endif
    }
    return now;
}

/// A moment, of which differences have a meaning: on a GPU cycles of the caller's multiprocessor,
/// on a CPU nanoseconds. The compiler moves no access to memory across it. A GPU waits for the
/// answer of an atomic only where that is used, so a caller that means to time it branches on the
/// answer before it reads the clock.
HEAPWOOD_INLINE std::uint64_t ticks() {
#if defined(__CUDA_ARCH__)
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
#else
    return nanoseconds();
#endif
}

}  // namespace heapwood::platform
