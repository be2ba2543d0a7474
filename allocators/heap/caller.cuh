/// @file
/// The thread that calls a heap, found without its help: the threads of a program that knows
/// nothing of Heapwood have no Context at hand.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/threads.h"

namespace heapwood::allocators::heap {

/// Warps that a multiprocessor can hold at once, on every GPU so far.
inline constexpr std::uint32_t kWarpsOfMultiprocessor = 64;

/// The calling thread. On a GPU the warp has the number of the place where it runs, below
/// kWarpsOfMultiprocessor times the number of multiprocessors: no two that run at once share it,
/// whatever the shape of the launch. On a CPU both numbers count the threads that ever asked.
/// @param multiprocessors of the heap's PoolConfig; not 0
HEAPWOOD_INLINE Context calling_thread(std::uint32_t multiprocessors) {
#if defined(__CUDA_ARCH__)
    std::uint32_t multiprocessor;
    std::uint32_t warp;
    asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    return {multiprocessor % multiprocessors, multiprocessor * kWarpsOfMultiprocessor + warp};
#else
    const std::uint32_t number = platform::thread_number();
    return {number % multiprocessors, number};
#endif
}

}  // namespace heapwood::allocators::heap
