/// @file
/// What must hold of a Heap over any allocator on a GPU: called for each of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/heap.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/platform/cuda_runtime.h"
#include "tests/allocators/heap/calls_body.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/seed.h"

namespace heapwood::tests {

inline constexpr std::uint64_t kGpuHeapBytes = std::uint64_t{256} << 20;

/// A thread as a warp of its own, for bodies that number their threads.
struct LoneThread {
    static constexpr unsigned width = 1;
    HEAPWOOD_FN unsigned lane() const { return 0; }
};

/// Random calls of all lanes of warps in blocks of two dimensions.
template <class Ref>
__global__ void call_heap(HeapCallsBody<Ref> body) {
    const unsigned in_block = threadIdx.y * blockDim.x + threadIdx.x;
    body(LoneThread{}, blockIdx.x * blockDim.x * blockDim.y + in_block);
}

/// @return the sum of what all threads saw
template <class Ref>
CallTally run_gpu_calls(const Ref& ref, std::uint64_t seed, unsigned rounds = 60) {
    constexpr unsigned kBlocks = 64;
    const dim3 block(12, 16);  // six warps, whose lanes are of several rows
    const unsigned threads = kBlocks * block.x * block.y;
    constexpr unsigned kEach = 3;
    ManagedArray<Block> slots(std::size_t{threads} * kEach);
    ManagedArray<CallTally> tallies(threads);
    call_heap<<<kBlocks, block>>>(
        HeapCallsBody<Ref>{ref, slots.data(), kEach, rounds, 600, seed, tallies.data()});
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    CallTally sum{};
    for (const CallTally& tally : tallies) sum += tally;
    EXPECT_EQ(sum.wrong, 0U);
    EXPECT_EQ(sum.corrupt, 0U);
    EXPECT_GT(sum.calls, std::uint64_t{threads} * rounds - 1);
    return sum;
}

/// Waits for a kernel. Expects that it has counted no mistake, and that no block is in use.
template <class A>
void expect_no_mistake(const allocators::Heap<A>& heap, const ManagedArray<unsigned>& wrong) {
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    EXPECT_EQ(wrong[0], 0U);
    EXPECT_EQ(heap.use().allocated_bytes, 0U);
}

/// Expects few refusals, and that no block is in use.
template <class A>
void expect_gpu_rest(const allocators::Heap<A>& heap, const CallTally& sum) {
    if (!A::traits().full) return;
    EXPECT_LE(sum.refused, sum.calls / 100);
    if (!A::traits().walkable) return;
    EXPECT_EQ(heap.use().allocated_bytes, 0U);
}

template <class A>
void check_gpu_calls() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    allocators::Heap<A> owner(kGpuHeapBytes);
    const std::uint64_t seed = test_seed();
    for (unsigned run = 0; run < 2; ++run) {
        expect_gpu_rest(owner, run_gpu_calls(owner.ref(), seed + run));
        owner.reset();
    }
}

template <class A>
void check_gpu_given_memory() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    if (A::traits().one_heap) GTEST_SKIP() << "CUDA gives its own memory";
    const std::uint64_t seed = test_seed();
    enum Kind { device, managed, pinned };
    for (const Kind kind : {device, managed, pinned}) {
        void* memory = nullptr;
        require_cuda(kind == device    ? cudaMalloc(&memory, kGpuHeapBytes)
                     : kind == managed ? cudaMallocManaged(&memory, kGpuHeapBytes)
                                       : cudaMallocHost(&memory, kGpuHeapBytes));
        {
            const allocators::Heap<A> owner({.bytes = kGpuHeapBytes, .memory = memory});
            // Over the bus each call takes long.
            expect_gpu_rest(owner, run_gpu_calls(owner.ref(), seed, kind == device ? 60 : 4));
        }
        require_cuda(kind == pinned ? cudaFreeHost(memory) : cudaFree(memory));
    }
}

template <class A>
void check_gpu_growth() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    if constexpr (allocators::CanGrow<A>) {
        allocators::Heap<allocators::Growing<A>> owner(kGpuHeapBytes / 8);
        const std::uint64_t seed = test_seed();
        for (unsigned part = 1; part < 4; ++part) {
            owner.allocator().grow(kGpuHeapBytes / 2);
            expect_gpu_rest(owner, run_gpu_calls(owner.ref(), seed + part));
            if (!A::traits().full) owner.reset();
        }
    }
}

}  // namespace heapwood::tests
