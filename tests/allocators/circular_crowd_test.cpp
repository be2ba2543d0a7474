/// @file
/// Many requests at once for one chunk, of the circular allocators with a single hint: threads that
/// go in lockstep, as a GPU's do, so that all of them want the same chunk at the same moment. None
/// may be refused while there is memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "allocators/cdmalloc.cuh"
#include "allocators/cfmalloc.cuh"
#include "allocators/cmalloc.cuh"

namespace heapwood::tests {

namespace {

/// A policy whose threads make each step together, and that has no patience but where there is
/// hope.
template <class Policy>
struct InLockstep : Policy {
    static constexpr std::uint32_t kPatience = 1;
    static inline std::barrier<>* together = nullptr;
    static void pause() {
        if (together != nullptr) together->arrive_and_wait();
    }
};

template <class Policy>
class CircularCrowd : public ::testing::Test {};
using Policies = ::testing::Types<allocators::CMallocPolicy, allocators::CFMallocPolicy,
                                  allocators::CDMallocPolicy>;
TYPED_TEST_SUITE(CircularCrowd, Policies);

TYPED_TEST(CircularCrowd, NobodyIsRefused) {
    using Policy = InLockstep<TypeParam>;
    constexpr std::uint32_t kThreads = 48;
    constexpr std::uint32_t kEach = 2;
    constexpr std::size_t kBytes = 16;
    allocators::circular::CircularMalloc<Policy> pool({.bytes = 1 << 20});
    const auto ref = pool.ref();
    std::vector<void*> blocks(kThreads * kEach, nullptr);

    std::barrier<> together(kThreads);
    Policy::together = &together;
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint32_t i = 0; i < kEach; ++i) {
                blocks[t * kEach + i] = ref.allocate({0, t}, kBytes);
            }
            together.arrive_and_drop();
        });
    }
    threads.clear();
    Policy::together = nullptr;

    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), nullptr), 0);
    unsigned pieces = 0;
    pool.for_each_region([&](const allocators::Region& r) { pieces += r.allocated ? 0 : 1; });
    EXPECT_GT(pieces, kThreads / 4) << "not cut for the crowd";
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
    for (void* block : blocks) ref.deallocate({0, 0}, block, kBytes);
    EXPECT_NE(ref.allocate({0, 0}, pool.pool_bytes()), nullptr) << "the pool is not whole again";
}

}  // namespace

}  // namespace heapwood::tests
