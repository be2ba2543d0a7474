/// @file
/// The clock by which single calls are timed.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

#if !defined(__CUDA_ARCH__)
#include <chrono>
#endif

namespace heapwood::platform {

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
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
#endif
}

}  // namespace heapwood::platform
