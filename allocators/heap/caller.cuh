/// @file
/// The thread that calls a heap, found without its help: the threads of a program that knows
/// nothing of Heapwood have no Context at hand.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/threads.h"
#if defined(__CUDACC__)
#include "allocators/platform/multiprocessor.cuh"
#endif

namespace heapwood::allocators::heap {

/// Warps that a multiprocessor can hold at once, on every GPU so far.
inline constexpr std::uint32_t kWarpsOfMultiprocessor = 64;

/// The calling thread. On a GPU, Context::warp is the hardware's slot of the warp, below
/// kWarpsOfMultiprocessor times `multiprocessors`. Two warps that run at the same time have
/// different slots, whatever the shape of the launch. On a CPU both numbers are the thread's
/// number.
/// @param multiprocessors of the heap's PoolConfig; not 0
HEAPWOOD_INLINE Context calling_thread(std::uint32_t multiprocessors) {
#if defined(__CUDA_ARCH__)
    const std::uint32_t multiprocessor = platform::multiprocessor(multiprocessors);
    std::uint32_t warp;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    return {multiprocessor, multiprocessor * kWarpsOfMultiprocessor + warp};
#else
    const std::uint32_t number = platform::thread_number();
    return {number % multiprocessors, number};
#endif
}

}  // namespace heapwood::allocators::heap
