/// @file
/// What must hold of a heap whose pool grows while a kernel runs, on a GPU: called for each
/// allocator.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "allocators/heap.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/memory/beside_kernels.h"
#include "allocators/platform/cuda_runtime.h"
#include "tests/allocators/heap/gpu_checks.cuh"
#include "tests/allocators/heap/growth_body.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// A body, by threads that are warps of their own.
template <class Body>
__global__ void run_by_threads(Body body) {
    body(LoneThread{}, blockIdx.x * blockDim.x + threadIdx.x);
}

/// A GPU that can grow a pool beside its kernels.
inline bool can_grow_beside_kernels(std::string& why) {
    try {
        const allocators::BesideKernels probe;
        return true;
    } catch (const std::runtime_error& failure) {
        why = failure.what();
        return false;
    }
}

/// One launch takes several times the bytes of the first part; a second one checks and frees them.
/// @tparam Pool of an A, that grows
/// @param launch runs a body on all threads
template <class A, class Pool, class Launch>
void check_gpu_growth_in(unsigned threads, unsigned each, const Launch& launch) {
    constexpr std::uint64_t kPart = std::uint64_t{64} << 20;
    constexpr std::uint64_t kMost = 24 * kPart;
    constexpr std::uint64_t kLargest = 4096;
    allocators::Heap<Pool> owner(kPart);
    Pool& pool = owner.allocator();
    pool.grow_automatically({.step = kPart, .most = kMost, .patience = std::chrono::seconds(5)});
    const auto heap = owner.ref();
    using Ref = allocators::HeapRef<Pool>;
    ManagedArray<Block> slots(std::size_t{threads} * each);
    ManagedArray<GrowthTally> tallies(threads);
    launch(TakeAllBody<Ref>{heap, slots.data(), each, kLargest, test_seed(), tallies.data()});
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    GrowthTally taken{};
    for (const GrowthTally& tally : tallies) taken += tally;
    EXPECT_EQ(taken.refused, 0U) << pool.growth_refusal();
    EXPECT_GT(taken.bytes, 3 * kPart);
    EXPECT_GE(pool.part_count(), 4U);
    EXPECT_LE(pool.pool_bytes(), kMost);
    launch(CheckAndFreeBody<Ref>{heap, slots.data(), each, threads, tallies.data()});
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    GrowthTally sum{};
    for (const GrowthTally& tally : tallies) sum += tally;
    EXPECT_EQ(sum.corrupt, 0U);
    if (A::traits().full && A::traits().walkable) {
        EXPECT_EQ(owner.use().allocated_bytes, 0U);
    }
}

/// An ordinary launch. @tparam Pool void: Growing<A>, if A can grow
template <class A, class Pool = void>
void check_gpu_growth_in_one_launch() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    if constexpr (allocators::CanGrow<A>) {
        std::string why;
        if (!can_grow_beside_kernels(why)) GTEST_SKIP() << why;
        constexpr unsigned kBlocks = 96;
        constexpr unsigned kThreads = 128;
        using Parts = allocators::Growing<A>;
        using Used = std::conditional_t<std::is_void_v<Pool>, Parts, Pool>;
        check_gpu_growth_in<A, Used>(kBlocks * kThreads, 8, [](const auto& body) {
            run_by_threads<<<kBlocks, kThreads>>>(body);
        });
    }
}

/// A launch that leaves no room on the GPU for another kernel, and waits for memory.
template <class A, class Pool = allocators::Growing<A>>
void check_gpu_growth_under_a_full_gpu() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    std::string why;
    if (!can_grow_beside_kernels(why)) GTEST_SKIP() << why;
    constexpr unsigned kThreads = 256;
    using Ref = allocators::HeapRef<Pool>;
    const std::uint32_t blocks =
        platform::resident_blocks(run_by_threads<TakeAllBody<Ref>>, kThreads);
    // About 600 MiB.
    const unsigned each = (std::uint64_t{600} << 20) / 3072 / (blocks * kThreads) + 1;
    check_gpu_growth_in<A, Pool>(blocks * kThreads, each, [blocks](const auto& body) {
        platform::launch_resident("filling the GPU", run_by_threads<std::decay_t<decltype(body)>>,
                                  blocks, kThreads, nullptr, body);
    });
}

}  // namespace heapwood::tests
