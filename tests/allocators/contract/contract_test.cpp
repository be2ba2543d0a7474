/// @file
/// Corners of the contract (allocators/allocator.cuh): caches that another warp returns, memory
/// that a caller's own cache keeps, configurations without a multiprocessor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "allocators/buddy.cuh"
#include "allocators/circular.cuh"
#include "allocators/fdgmalloc.cuh"
#include "allocators/halloc.cuh"
#include "allocators/hybrid.cuh"
#include "allocators/measure/counting.cuh"
#include "allocators/xmalloc.cuh"

namespace heapwood::tests {

namespace {

using allocators::CallerCache;
using allocators::Context;
using allocators::PoolConfig;
using allocators::Region;

template <class A>
class ContractTest : public ::testing::Test {};

struct Names {
    template <class A>
    static std::string GetName(int) {
        return A::traits().name;
    }
};

using Allocators = ::testing::Types<allocators::CMalloc, allocators::CFMMalloc, allocators::Hybrid,
                                    allocators::Buddy, allocators::Halloc, allocators::XMalloc,
                                    allocators::FDGMalloc>;
TYPED_TEST_SUITE(ContractTest, Allocators, Names);

/// Bytes of regions that are allocated.
template <class A>
std::uint64_t allocated(const A& a) {
    std::uint64_t sum = 0;
    a.for_each_region([&sum](const Region& r) { sum += r.allocated ? r.size : 0; });
    return sum;
}

TYPED_TEST(ContractTest, AnyWarpOfTheBlockFlushes) {
    // So many callers that in this pool not all of them keep blocks to themselves.
    const TypeParam pool(PoolConfig{.bytes = 16384, .callers = 64});
    const auto ref = pool.ref();
    CallerCache cache{};
    void* p = ref.allocate({0, 0, &cache}, 16);
    ASSERT_NE(p, nullptr);
    ref.deallocate({0, 0, &cache}, p, 16);
    allocators::flush(ref, Context{0, 63, &cache});
    EXPECT_TRUE(std::ranges::all_of(cache.words, [](std::uint64_t w) { return w == 0; }));
    if (TypeParam::traits().frees_individually) {
        EXPECT_EQ(allocated(pool), 0U);
    }
}

// The words of a cache are 0 after flush(), and the pool stays as it was when it froze.
TYPED_TEST(ContractTest, AFrozenPoolClearsTheCacheAndNothingElse) {
    allocators::Counting<TypeParam> pool(PoolConfig{.bytes = 1 << 20, .callers = 8});
    constexpr unsigned kBlocks = 200;  // more than a hint leads to
    pool.freeze_at(kBlocks * 16);
    const auto ref = pool.ref();
    CallerCache cache{};
    const Context context{0, 0, &cache};
    for (unsigned i = 0; i < kBlocks; ++i) ASSERT_NE(ref.allocate(context, 16), nullptr);
    ASSERT_TRUE(pool.frozen());
    const std::uint64_t before = allocated(pool);
    allocators::flush(ref, context);
    EXPECT_TRUE(std::ranges::all_of(cache.words, [](std::uint64_t w) { return w == 0; }));
    EXPECT_EQ(allocated(pool), before);
}

TYPED_TEST(ContractTest, ACacheThatWasFlushedServesAnotherPool) {
    CallerCache cache{};
    const Context context{0, 0, &cache};
    const TypeParam large(PoolConfig{.bytes = 16 << 20, .callers = 8});
    void* last = nullptr;
    for (unsigned i = 0; i < 3000; ++i) {
        void* p = large.ref().allocate(context, 16);
        if (p == nullptr) break;
        last = p;
    }
    ASSERT_NE(last, nullptr);
    allocators::flush(large.ref(), context);
    const TypeParam small(PoolConfig{.bytes = 16384, .callers = 8});
    EXPECT_NE(small.ref().allocate(context, 16), nullptr);
}

TYPED_TEST(ContractTest, ACallerGetsWhatItsOwnCacheKeeps) {
    if (!TypeParam::traits().full) GTEST_SKIP() << "frees nothing";
    const TypeParam pool(PoolConfig{.bytes = 1 << 20});
    const auto ref = pool.ref();
    CallerCache cache{};
    const Context context{0, 0, &cache};
    for (const std::size_t bytes : {16, 64, 500}) {
        void* p = ref.allocate(context, bytes);
        ASSERT_NE(p, nullptr);
        ref.deallocate(context, p, bytes);
        void* whole = ref.allocate(context, pool.pool_bytes());
        EXPECT_NE(whole, nullptr) << "after a block of " << bytes << " bytes";
        ref.deallocate(context, whole, pool.pool_bytes());
    }
}

TYPED_TEST(ContractTest, NoMultiprocessorMeansOne) {
    const TypeParam pool(PoolConfig{.bytes = 1 << 20, .multiprocessors = 0});
    EXPECT_NE(pool.ref().allocate({0, 0}, 100), nullptr);
}

}  // namespace

}  // namespace heapwood::tests
