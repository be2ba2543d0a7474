/// @file
/// Heaps on a GPU for a long time: very many calls, and a heap that grows from kernel to kernel.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "allocators/atomicmalloc.cuh"
#include "allocators/cambium.cuh"
#include "allocators/halloc.cuh"
#include "allocators/heap.cuh"
#include "allocators/heap/extending.cuh"
#include "allocators/heap/growing.cuh"
#include "tests/allocators/heap/gpu_checks.cuh"
#include "tests/allocators/heap/gpu_growth_checks.cuh"
#include "tests/seed.h"
#include "tests/thorough.h"

namespace heapwood::tests {
namespace {

/// 10^8 stamped and checked calls with HEAPWOOD_TEST_ALL, else a hundredth of them.
template <class A>
void check_many_calls() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    const std::uint64_t wanted = thorough() ? 100'000'000 : 1'000'000;
    allocators::Heap<A> owner(std::uint64_t{8} << 30);
    const std::uint64_t seed = test_seed();
    CallTally sum{};
    for (unsigned run = 0; sum.calls < wanted; ++run) {
        // What gives no memory back has room for the blocks of all these rounds.
        sum += run_gpu_calls(owner.ref(), seed + run, A::traits().full ? 1000 : 100);
        if (!A::traits().full) owner.reset();
    }
    ::testing::Test::RecordProperty("calls", std::to_string(sum.calls));
    EXPECT_EQ(sum.refused, 0U);
    EXPECT_EQ(sum.wrong, 0U);
    EXPECT_EQ(sum.corrupt, 0U);
    EXPECT_GT(sum.not_moved, 0U);
    if (A::traits().full) {
        EXPECT_EQ(owner.use().allocated_bytes, 0U);
    }
}

TEST(GpuHeapAtLength, AnswersCallsWithCambium) {
    check_many_calls<allocators::Cambium>();
}
TEST(GpuHeapAtLength, AnswersCallsWithHalloc) {
    check_many_calls<allocators::Halloc>();
}
TEST(GpuHeapAtLength, AnswersCallsWithAtomicMalloc) {
    check_many_calls<allocators::AtomicMalloc>();
}

/// What the word at `i` of a block is.
__device__ std::uint64_t word_of(std::uint64_t seed, std::uint64_t block, unsigned i) {
    return (seed ^ block) * 0x9e3779b97f4a7c15U + i;
}

/// Each thread takes a block and writes all of its words.
template <class Ref>
__global__ void take_block(Ref heap, std::uint64_t** blocks, std::uint64_t first, unsigned words,
                           std::uint64_t seed, unsigned* refused) {
    const std::uint64_t number = first + blockIdx.x * blockDim.x + threadIdx.x;
    auto* const block = static_cast<std::uint64_t*>(heap.malloc(words * sizeof(std::uint64_t)));
    blocks[number] = block;
    if (block == nullptr) {
        atomicAdd(refused, 1U);
        return;
    }
    for (unsigned i = 0; i < words; ++i) block[i] = word_of(seed, number, i);
}

/// Each thread checks a block, which a former kernel has taken.
__global__ void check_block(std::uint64_t* const* blocks, unsigned words, std::uint64_t seed,
                            unsigned* wrong) {
    const std::uint64_t number = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < words; ++i) {
        if (blocks[number][i] != word_of(seed, number, i)) atomicAdd(wrong, 1U);
    }
}

template <class Ref>
__global__ void free_block(Ref heap, std::uint64_t* const* blocks) {
    heap.free(blocks[blockIdx.x * blockDim.x + threadIdx.x]);
}

/// From 64 MiB to 8 GiB while ten kernels run in turn: what the former ones have taken is where it
/// was, and what it was.
template <class Pool>
void check_growth_over_kernels() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    std::string why;
    if (!can_grow_beside_kernels(why)) GTEST_SKIP() << why;
    constexpr unsigned kKernels = 10;
    constexpr unsigned kGrid = 768;
    constexpr unsigned kThreads = 128;
    constexpr unsigned kEach = kGrid * kThreads;
    constexpr unsigned kWords = 1020;
    constexpr std::uint64_t kMost = std::uint64_t{8} << 30;
    allocators::Heap<Pool> owner(std::uint64_t{64} << 20);
    Pool& pool = owner.allocator();
    pool.grow_automatically({.step = std::uint64_t{256} << 20, .most = kMost});
    const std::uint64_t seed = test_seed();
    ManagedArray<std::uint64_t*> blocks(std::size_t{kKernels} * kEach);
    ManagedArray<unsigned> mistakes(2);
    mistakes[0] = mistakes[1] = 0;
    for (unsigned kernel = 0; kernel < kKernels; ++kernel) {
        const std::uint64_t before = pool.pool_bytes();
        take_block<<<kGrid, kThreads>>>(owner.ref(), blocks.data(), std::uint64_t{kernel} * kEach,
                                        kWords, seed, mistakes.data());
        require_cuda(cudaGetLastError());
        require_cuda(cudaDeviceSynchronize());
        EXPECT_GT(pool.pool_bytes(), before) << "kernel " << kernel;
        check_block<<<kGrid*(kernel + 1), kThreads>>>(blocks.data(), kWords, seed,
                                                      mistakes.data() + 1);
        require_cuda(cudaGetLastError());
        require_cuda(cudaDeviceSynchronize());
        ASSERT_EQ(mistakes[0], 0U) << pool.growth_refusal();
        ASSERT_EQ(mistakes[1], 0U) << "after kernel " << kernel;
    }
    EXPECT_LE(pool.pool_bytes(), kMost);
    EXPECT_GT(pool.pool_bytes(), std::uint64_t{kKernels} * kEach * kWords * sizeof(std::uint64_t));
    free_block<<<kGrid * kKernels, kThreads>>>(owner.ref(), blocks.data());
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    EXPECT_EQ(owner.use().allocated_bytes, 0U);
}

TEST(GpuHeapAtLength, GrowsByPartsFromKernelToKernel) {
    check_growth_over_kernels<allocators::Growing<allocators::Cambium>>();
}
TEST(GpuHeapAtLength, GrowsAtItsEndFromKernelToKernel) {
    check_growth_over_kernels<allocators::Extending<allocators::Cambium::Extensible>>();
}

}  // namespace
}  // namespace heapwood::tests
