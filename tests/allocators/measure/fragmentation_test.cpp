/// @file
/// Both fragmentation measures against numbers worked out by hand, and for the empty sets.
#include "allocators/measure/fragmentation.h"

#include <gtest/gtest.h>

#include <vector>

#include "allocators/circular.cuh"
#include "allocators/cudamalloc.cuh"
#include "tests/allocators/internal_fragmentation.h"

namespace heapwood::allocators {

namespace {

PoolUse use_of(const std::vector<Region>& regions) {
    PoolUse use;
    for (const Region& r : regions) use.add(r);
    return use;
}

TEST(Fragmentation, ExternalOfSeveralFreeRegions) {
    const PoolUse use = use_of(
        {{0, 100, false}, {100, 50, true}, {150, 300, false}, {450, 30, true}, {480, 100, false}});
    EXPECT_EQ(use.free_bytes, 500U);
    EXPECT_EQ(use.free_regions, 3U);
    EXPECT_EQ(use.largest_free, 300U);
    EXPECT_EQ(use.allocated_bytes, 80U);
    EXPECT_EQ(use.allocated_regions, 2U);
    EXPECT_DOUBLE_EQ(external_fragmentation(use), 0.4);  // 1 - 300/500
}

TEST(Fragmentation, ExternalOfOneFreeRegionIsZero) {
    EXPECT_DOUBLE_EQ(external_fragmentation(use_of({{0, 64, true}, {64, 64, false}})), 0);
}

TEST(Fragmentation, ExternalOfAFullPoolIsZero) {
    EXPECT_DOUBLE_EQ(external_fragmentation(use_of({{0, 64, true}})), 0);
}

TEST(Fragmentation, ExternalOfAPoolThatCannotBeWalkedIsUnknown) {
    const CudaMalloc a({.bytes = 1 << 20});
    EXPECT_FALSE(measure_pool(a).known);
    EXPECT_LT(external_fragmentation(measure_pool(a)), 0);
}

TEST(Fragmentation, OfAWalkedPool) {
    CMalloc a({.bytes = 4096});
    void* first = a.ref().allocate({}, 1024);
    void* second = a.ref().allocate({}, 1024);
    ASSERT_NE(second, nullptr);
    a.ref().deallocate({}, first, 1024);
    const PoolUse use = measure_pool(a);
    EXPECT_EQ(use.allocated_bytes, 1024U);
    EXPECT_EQ(use.free_bytes, 3072U);
    EXPECT_DOUBLE_EQ(external_fragmentation(use), 1.0 / 3);  // 1 - 2048/3072
}

TEST(Fragmentation, InternalIsTheMeanOfRatios) {
    tests::InternalFragmentation f;
    EXPECT_DOUBLE_EQ(f.mean(), 0);
    f.add(16, 12);     // 1/4
    f.add(1024, 512);  // 1/2
    f.add(32, 32);     // 0
    EXPECT_DOUBLE_EQ(f.mean(), 0.25);
}

}  // namespace

}  // namespace heapwood::allocators
