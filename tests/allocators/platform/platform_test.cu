/// @file
/// The platform layer's tests on a GPU; skipped where there is none.
#include <cstdint>

#include "allocators/platform/lanes.cuh"
#include "tests/allocators/bodies.h"
#include "tests/allocators/platform/atomic_order_tests.h"
#include "tests/allocators/platform/atomic_tests.h"
#include "tests/allocators/platform/collective_tests.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

/// AloneBody with its object in shared memory; then the block's threads count together there.
template <class T>
__global__ void run_in_shared_memory(unsigned* wrong, T* counted, unsigned rounds) {
    constexpr platform::Scope kBlock = platform::Scope::block;
    __shared__ T object, added, swapped;
    if (threadIdx.x < platform::DeviceWarp::width)
        AloneBody<T, kBlock>{&object, wrong}(platform::DeviceWarp{}, 0);
    added = swapped = 0;
    __syncthreads();
    for (unsigned i = 0; i < rounds; ++i) {
        AtomicRef<T, kBlock>(added).add_acq_rel(3);
        const AtomicRef<T, kBlock> cas(swapped);
        T seen = cas.load_relaxed();
        while (!cas.cas_acquire(seen, static_cast<T>(seen + 1))) {
        }
    }
    __syncthreads();
    counted[0] = added;
    counted[1] = swapped;
}

template <class T>
void test_shared_memory() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no such device";
    constexpr unsigned kThreads = 128, kRounds = 50;
    ManagedArray<unsigned> wrong(1);
    ManagedArray<T> counted(2);
    wrong[0] = 99;
    run_in_shared_memory<<<1, kThreads>>>(wrong.data(), counted.data(), kRounds);
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    EXPECT_EQ(wrong[0], 0U) << "the first step that went wrong";
    EXPECT_EQ(counted[0], static_cast<T>(3 * kThreads * kRounds));
    EXPECT_EQ(counted[1], static_cast<T>(kThreads * kRounds));
}

/// What went wrong in calls of meet(), and how many lanes made them together.
struct TogetherCounts {
    unsigned calls_together, wrong_sums, lost_words;
};

/// What lanes meet at.
__device__ std::uint32_t places[7];

/// Lanes that are here together are counted by all, and get a word from the leader, which comes
/// later than the others. @return how many they were; `sum` and `word`: what the lane got
__device__ __noinline__ unsigned meet(std::uint32_t delay, unsigned* busy, unsigned& sum,
                                      unsigned& word) {
    // Constants: the compiler knows that they are the same for all.
    const platform::Lanes lanes(AtomicRef<std::uint32_t>(places[0]), 0);
    if (lanes.count() > 1) {
        unsigned before = 0;
        sum = lanes.sum(1U, before);
        unsigned of_leader = 0;
        if (lanes.rank() == 0) {
            for (std::uint32_t i = 0; i < delay; ++i) atomicAdd(busy, 1U);
            of_leader = 1;
        }
        word = lanes.of_leader(of_leader);
        lanes.sync();
    }
    return lanes.count();
}

__global__ void part_and_meet(unsigned rounds, unsigned* busy, TogetherCounts* counts) {
    std::uint32_t random = (blockIdx.x * blockDim.x + threadIdx.x) * 747796405U + 12345U;
    for (unsigned i = 0; i < rounds; ++i) {
        random = random * 1664525U + 1013904223U;
        for (std::uint32_t j = 0; j < (random >> 20) % 8; ++j) atomicAdd(busy, 1U);
        unsigned sum = 0, word = 0;
        const unsigned together = meet((random >> 8) % 16, busy, sum, word);
        if (together == 1) continue;
        atomicAdd(&counts->calls_together, 1U);
        if (sum != together) atomicAdd(&counts->wrong_sums, 1U);
        if (word == 0) atomicAdd(&counts->lost_words, 1U);
    }
}

/// Whether all blocks of the grid are there at the same time.
__global__ void meet_all(std::uint32_t* arrived, std::uint32_t* met) {
    const AtomicRef here(*arrived);
    here.add_relaxed(1);
    while (here.load_relaxed() < gridDim.x) platform::back_off(0);
    AtomicRef(*met).add_relaxed(1);
}

TEST(LaunchResidentTest, AllBlocksMeet) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no such device";
    ManagedArray<std::uint32_t> counts(2);
    const std::uint32_t blocks = platform::resident_blocks(meet_all, 1);
    platform::launch_resident("meeting", meet_all, blocks, 1, nullptr, &counts[0], &counts[1]);
    require_cuda(cudaDeviceSynchronize());
    EXPECT_EQ(counts[1], blocks);
}

TEST(LaunchResidentTest, RefusesMoreBlocksThanThereIsRoomFor) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no such device";
    ManagedArray<std::uint32_t> counts(2);
    counts[0] = 1U << 31;  // so that they would not wait
    const std::uint32_t blocks = platform::resident_blocks(meet_all, 1) + 1;
    EXPECT_THROW(
        platform::launch_resident("meeting", meet_all, blocks, 1, nullptr, &counts[0], &counts[1]),
        std::runtime_error);
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    EXPECT_EQ(counts[1], 0U);
}

TEST(LanesTest, WaitForTheLeaderWhereOthersHaveTheSameConstantWordAndKey) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no such device";
    ManagedArray<unsigned> busy(1);
    ManagedArray<TogetherCounts> counts(1);
    part_and_meet<<<64, 32>>>(1000, busy.data(), counts.data());
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    EXPECT_GT(counts[0].calls_together, 0U);
    EXPECT_EQ(counts[0].wrong_sums, 0U);
    EXPECT_EQ(counts[0].lost_words, 0U);
}

/// What a lane adds, where, and what it gets.
template <class T>
struct Summand {
    T mine, sum, before;
    unsigned place, key;
    unsigned leader, rank;  ///< lanes with the same leader are a group
};

template <class T>
__global__ void add_up(Summand<T>* summands) {
    Summand<T>& s = summands[blockIdx.x * blockDim.x + threadIdx.x];
    if ((threadIdx.x * 5 + blockIdx.x) % 8 == 0) return;  // so groups have gaps
    const platform::Lanes lanes(AtomicRef<std::uint32_t>(places[s.place]), s.key);
    s.sum = lanes.sum(s.mine, s.before);
    s.rank = lanes.rank();
    s.leader = lanes.of_leader(threadIdx.x);
}

template <class T>
void test_sums() {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no such device";
    constexpr unsigned kBlocks = 64;
    ManagedArray<Summand<T>> summands(32 * kBlocks);
    Dice dice{test_seed()};
    for (unsigned i = 0; i < 32 * kBlocks; ++i) {
        // Of some warps all lanes have the same number, of others numbers of few bits, or of many.
        const unsigned bits = i / 32 % 3 == 0 ? 1 : i / 32 % 3 == 1 ? 12 : 8 * sizeof(T) - 6;
        summands[i] = {static_cast<T>(dice.below(std::uint64_t{1} << bits) | 16U),
                       0,
                       0,
                       static_cast<unsigned>(dice.below(i / 32 % 7 + 1)),
                       static_cast<unsigned>(dice.below(i / 32 % 3 + 1)),
                       99,
                       99};
    }
    add_up<<<kBlocks, 32>>>(summands.data());
    require_cuda(cudaGetLastError());
    require_cuda(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 32 * kBlocks; ++i) {
        if (summands[i].leader == 99) continue;
        T sum = 0, before = 0;
        for (unsigned other = i / 32 * 32; other < i / 32 * 32 + 32; ++other) {
            if (summands[other].leader != summands[i].leader) continue;
            EXPECT_EQ(summands[other].place, summands[i].place) << "lanes of two words";
            EXPECT_EQ(summands[other].key, summands[i].key) << "lanes of two keys";
            sum += summands[other].mine;
            if (summands[other].rank < summands[i].rank) before += summands[other].mine;
        }
        EXPECT_EQ(summands[i].sum, sum) << "lane " << i % 32 << " of warp " << i / 32;
        EXPECT_EQ(summands[i].before, before) << "lane " << i % 32 << " of warp " << i / 32;
    }
}

TEST(LanesTest, SumsOfUint32) {
    test_sums<std::uint32_t>();
}
TEST(LanesTest, SumsOfUint64) {
    test_sums<std::uint64_t>();
}

TEST(SharedMemoryTest, Uint32) {
    test_shared_memory<std::uint32_t>();
}
TEST(SharedMemoryTest, Uint64) {
    test_shared_memory<std::uint64_t>();
}

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, CollectiveTest, DeviceMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, AtomicTest, DeviceMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, AtomicOrderTest, DeviceMachine);

}  // namespace heapwood::tests
