/// @file
/// A list of slabs remembers that it had none, however often it has got something back.
#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/llvm_libc.cuh"
#include "allocators/parts/slab_list.cuh"

namespace heapwood::tests {

namespace {

using allocators::SlabListState;

class SlabListTest : public ::testing::Test {
protected:
    using Policy = allocators::LlvmLibcPolicy;
    using List = allocators::SlabList<Policy>;

    static constexpr std::uint32_t kSlabShift = 14;
    static constexpr std::uint64_t kSlabs = 16;

    List list() { return {pool_.ref(), state_, kSlabShift}; }

    SlabListState state_{};
    allocators::circular::CircularMalloc<Policy> pool_{
        {.bytes = kSlabs << kSlabShift}, kSlabShift - 6, std::uint64_t{1} << kSlabShift};
};

TEST_F(SlabListTest, IsNotFullBeforeASearchInVain) {
    for (const std::uint64_t returned : {0ULL, 0xfffffffeULL, 0xffffffffULL, 1ULL << 32}) {
        state_ = {returned, 0};
        EXPECT_EQ(list().returned(), returned);
        EXPECT_FALSE(list().is_full(returned)) << returned;
    }
}

TEST_F(SlabListTest, IsFullUntilSomethingReturns) {
    for (const std::uint64_t returned : {0ULL, 0xffffffffULL}) {
        state_ = {returned, 0};
        std::uint32_t slab = 0;
        for (std::uint32_t next = 0; next != List::kNoSlab; next = list().take({})) slab = next;
        EXPECT_TRUE(list().is_full(list().returned())) << returned;
        list().give({}, list().slab(slab));
        EXPECT_FALSE(list().is_full(list().returned())) << returned;
        EXPECT_NE(list().take({}), List::kNoSlab) << returned;
        pool_.reset();
    }
}

/// What a search found 2^32 returns ago says nothing.
TEST_F(SlabListTest, ForgetsAfterAnyNumberOfReturns) {
    state_ = {5, 6};
    EXPECT_TRUE(list().is_full(5));
    state_ = {(1ULL << 32) + 5, 6};
    EXPECT_FALSE(list().is_full(list().returned()));
}

}  // namespace

}  // namespace heapwood::tests
