/// @file
/// Guarded heaps on a GPU, and groups of threads.
#include <gtest/gtest.h>

#include <cooperative_groups.h>

#include <cstdint>

#include "allocators/cambium.cuh"
#include "allocators/heap/guarded.cuh"
#include "tests/allocators/heap/gpu_checks.cuh"

namespace heapwood::tests {
namespace {

using allocators::Cambium;
using allocators::HeapFault;

TEST(GpuGuarded, IsCleanForAProgramWithoutMistakes) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    const allocators::GuardedHeap<Cambium> owner(kGpuHeapBytes);
    run_gpu_calls(owner.ref(), test_seed());
    const allocators::HeapReport report = owner.report();
    EXPECT_TRUE(report.is_clean()) << allocators::to_text(report);
    EXPECT_TRUE(report.leaks.empty());
}

/// Each thread makes the mistake of its number.
__global__ void mistakes(allocators::GuardedRef<Cambium> heap) {
    const allocators::GuardedRef<Cambium> mine = heap.tagged(threadIdx.x);
    auto* const block = static_cast<char*>(mine.malloc(100));
    switch (threadIdx.x % 4) {
        case 0:
            block[-1] = 1;
            break;
        case 1:
            block[100] = 1;
            break;
        case 2:
            mine.free(block + 16);
            break;
        default:
            mine.free(block);
    }
    mine.free(block);
}

TEST(GpuGuarded, FindsMistakesOfManyThreads) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    const allocators::GuardedHeap<Cambium> owner(kGpuHeapBytes);
    mistakes<<<1, 128>>>(owner.ref());
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    const allocators::HeapReport report = owner.report();
    for (const HeapFault fault : {HeapFault::written_before, HeapFault::written_behind,
                                  HeapFault::not_a_block, HeapFault::freed_twice}) {
        EXPECT_EQ(report.counts[static_cast<std::uint32_t>(fault)], 32U);
    }
    EXPECT_TRUE(report.leaks.empty());
}

/// Tiles of eight threads take a block together, each thread writes its part, and all look.
__global__ void tiles(allocators::HeapRef<Cambium> heap, unsigned* wrong) {
    namespace cg = cooperative_groups;
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    auto* const block = static_cast<unsigned*>(heap.malloc(tile, 8 * sizeof(unsigned)));
    if (block == nullptr) {
        atomicAdd(wrong, 1U);
        return;
    }
    block[tile.thread_rank()] = threadIdx.x;
    tile.sync();
    const unsigned next = (tile.thread_rank() + 1) % 8;
    if (block[next] != threadIdx.x / 8 * 8 + next) atomicAdd(wrong, 1U);
    heap.free(tile, block);
}

TEST(GpuHeapGroup, HasOneBlock) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    const allocators::Heap<Cambium> owner(kGpuHeapBytes);
    ManagedArray<unsigned> wrong(1);
    tiles<<<100, 256>>>(owner.ref(), wrong.data());
    expect_no_mistake(owner, wrong);
}

}  // namespace
}  // namespace heapwood::tests
