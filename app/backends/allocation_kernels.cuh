/// @file
/// One allocation and one deallocation in a kernel: what an allocator costs in registers, measured
/// as in table 1 of Vinkler & Havran 2015. Compiled for ptxas's figures (registers.h), never
/// launched. Included by .cu files only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/measure/coalescing.cuh"
#include "allocators/platform/multiprocessor.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::app {

/// The caller's part of the kernels: who the thread is, and how much it asks for.
struct Request {
    std::uint32_t multiprocessors;
    std::uint32_t word;  ///< written to the block, so that its address is needed
    std::size_t bytes;

    __device__ allocators::Context context() const {
        return {.multiprocessor = platform::multiprocessor(multiprocessors),
                .warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32};
    }
    /// Uses a block; nothing if there is none.
    __device__ void use(void* block) const {
        if (block != nullptr) *static_cast<std::uint32_t*>(block) = word;
    }
};

/// Every lane calls on its own.
template <allocators::Allocator A>
__global__ void uncoalesced_kernel(const __grid_constant__ typename A::Ref allocator,
                                   const __grid_constant__ Request request) {
    const allocators::Context context = request.context();
    void* block = allocator.allocate(context, request.bytes);
    request.use(block);
    allocator.deallocate(context, block, request.bytes);
}

/// The lanes of a warp call together.
template <allocators::Allocator A>
__global__ void coalesced_kernel(const __grid_constant__
                                 typename allocators::Coalescing<A>::Ref allocator,
                                 const __grid_constant__ Request request) {
    const platform::DeviceWarp warp;
    const allocators::Context context = request.context();
    void* block = allocator.allocate(warp, context, request.bytes);
    request.use(block);
    allocator.deallocate(warp, context, block, request.bytes);
}

}  // namespace heapwood::app
