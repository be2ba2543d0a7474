/// @file
/// The platform layer's tests on a GPU; skipped where there is none.
#include <cstdint>

#include "tests/allocators/platform/atomic_order_tests.h"
#include "tests/allocators/platform/atomic_tests.h"
#include "tests/allocators/platform/collective_tests.h"

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
