/// @file
/// What sets Gallatin apart: slices drawn from blocks, blocks of segments, and runs of segments.
/// bit_tree_test.cpp has the trees, gallatin_crowd_test.cpp stalled calls and crowds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "allocators/gallatin.cuh"
#include "tests/allocators/small_pool.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::Context;
using allocators::Gallatin;
using allocators::PoolConfig;
using allocators::segments::Layout;
using allocators::segments::Slices;

TEST(GallatinLayout, GivesEverySizeTheSmallestThatHoldsIt) {
    for (std::uint32_t shift = 10; shift <= 24; ++shift) {
        const std::uint32_t slices = shift < 16 ? 4 : shift - 12;
        const Layout layout{shift, slices};
        const std::uint32_t last = layout.classes() - 1;
        EXPECT_EQ(layout.blocks(last), 1U) << "a block of the largest class is a segment";
        EXPECT_EQ(layout.block_shift(last), shift);
        for (std::uint32_t bytes = 1; bytes <= layout.slice_limit(); ++bytes) {
            const Slices s = layout.slices_of(bytes);
            const std::uint32_t slice = 16U << s.k;
            ASSERT_LE(s.k, last);
            ASSERT_GE(s.count * slice, bytes);
            ASSERT_LT((s.count - 1) * slice, bytes);
            ASSERT_LE(s.count, 16U);
            ASSERT_LE(s.count, layout.slices());
            if (s.count == 1) {
                ASSERT_TRUE(s.k == 0 || slice / 2 < bytes);
            } else {
                ASSERT_EQ(s.k, last);
            }
        }
        for (std::uint64_t bytes = layout.slice_limit() + 1; bytes <= 1ULL << shift; bytes += 97) {
            const std::uint32_t k = layout.block_class(static_cast<std::uint32_t>(bytes));
            ASSERT_LE(k, last);
            ASSERT_GE(1ULL << layout.block_shift(k), bytes);
            ASSERT_TRUE(k == 0 || 1ULL << layout.block_shift(k) < 2 * bytes);
        }
        EXPECT_EQ(layout.segments_for((1ULL << shift) + 1), 2U);
        EXPECT_EQ(layout.segments_for(5ULL << shift), 5U);
    }
}

/// A pool of 256 segments of 16 KiB, with slices of 16 to 1024 bytes, 16 to a block.
class GallatinTest : public SmallPoolTest<Gallatin, 256 * 16384, 4> {
protected:
    static constexpr std::uint64_t kSegment = 16384;
    static constexpr std::uint64_t kSlices = 16;
};

TEST_F(GallatinTest, DrawsTheSlicesOfABlockInTurn) {
    char* const first = take_one(64);
    for (std::uint64_t i = 1; i < kSlices; ++i) EXPECT_EQ(take_one(64), first + 64 * i);
    EXPECT_EQ(allocated(), kSlices * 64);
    char* const next = take_one(64);
    EXPECT_EQ(next, first + kSlices * 64) << "the next block of the segment";
    EXPECT_EQ(allocated(), 2 * kSlices * 64);
    char* const other = take_one(32);
    EXPECT_NE((other - first) / static_cast<std::ptrdiff_t>(kSegment), 0) << "a segment of its own";
    for (std::uint64_t i = 0; i <= kSlices; ++i) free(first + 64 * i, 64);
    free(other, 32);
    expect_whole();
}

TEST_F(GallatinTest, GivesASliceAgainWhenItsBlockHasReturned) {
    std::vector<char*> block;
    for (std::uint64_t i = 0; i < kSlices; ++i) block.push_back(take_one(1024));
    for (std::uint64_t i = 1; i < kSlices; ++i) free(block[i], 1024);
    EXPECT_EQ(allocated(), kSegment) << "one live slice keeps the block";
    char* const other = take_one(1024);
    EXPECT_TRUE(other < block[0] || other >= block[0] + kSegment);
    free(block[0], 1024);
    EXPECT_EQ(allocated(), kSegment) << "the block of the other one";
    free(other, 1024);
    expect_whole();
}

TEST_F(GallatinTest, GivesCallersHeadsOfTheirOwn) {
    char* const a = take_one(16, 0);
    char* const b = take_one(16, 1);
    EXPECT_EQ(take_one(16, 4), a + 16) << "the heads are four";
    EXPECT_GE(b - a, static_cast<std::ptrdiff_t>(kSlices * 16));
    for (char* p : {a, a + 16, b}) free(p, 16);
    expect_whole();
}

TEST_F(GallatinTest, GivesBlocksToRequestsAboveSlices) {
    char* const a = take_one(1025);
    char* const b = take_one(2048);
    EXPECT_EQ(b, a + 2048) << "of one segment";
    EXPECT_EQ(ref_.granted_bytes(a, 1025), 2048U);
    char* const whole = take_one(kSegment);
    EXPECT_EQ(ref_.granted_bytes(whole, kSegment), kSegment);
    EXPECT_EQ(allocated(), 4096 + kSegment);
    free(a, 1025);
    EXPECT_EQ(take_one(2000), a) << "a block is given again at once";
    free(a, 2000);
    free(b, 2048);
    free(whole, kSegment);
    expect_whole();
}

TEST_F(GallatinTest, GivesRunsOfSegmentsFromTheBack) {
    char* const last = take_one(kSegment + 1);
    char* const before = take_one(5 * kSegment);
    EXPECT_EQ(before, last - 5 * kSegment);
    EXPECT_EQ(ref_.granted_bytes(last, kSegment + 1), 2 * kSegment);
    EXPECT_EQ(allocated(), 7 * kSegment);
    // Across several words of the tree.
    char* const long_one = take_one(200 * kSegment);
    EXPECT_EQ(long_one, before - 200 * kSegment);
    EXPECT_EQ(ref_.allocate({}, 50 * kSegment), nullptr) << "49 are left";
    free(before, 5 * kSegment);
    EXPECT_EQ(ref_.allocate({}, 50 * kSegment), nullptr);
    EXPECT_EQ(take_one(5 * kSegment), before) << "the hole is as large";
    char* const rest = take_one(49 * kSegment);
    EXPECT_EQ(allocated(), kPool);
    free(last, kSegment + 1);
    free(before, 5 * kSegment);
    free(long_one, 200 * kSegment);
    free(rest, 49 * kSegment);
    expect_whole();
}

TEST_F(GallatinTest, UsesTheLastSliceBeforeItRefuses) {
    for (const std::uint64_t bytes : {16U, 48U, 1024U, 1500U, 8192U}) {
        const std::uint64_t granted = ref_.granted_bytes(&pool_, bytes);
        auto all = take_all(bytes, 5);
        EXPECT_EQ(all.size(), kPool / granted) << bytes;
        EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
        EXPECT_EQ(allocated(), kPool);
        for (unsigned i = 0; i < 2000; ++i) ASSERT_EQ(ref_.allocate({i, i}, bytes), nullptr);
        EXPECT_EQ(ref_.allocate({}, 16), nullptr);
        std::shuffle(all.begin(), all.end(), std::mt19937_64(test_seed()));
        for (char* p : all) free(p, bytes);
        expect_whole();
    }
}

TEST_F(GallatinTest, ReturnsIdleBlocksToWhoeverNeedsThem) {
    // Each head of each class has a block, of which no slice is in use.
    for (std::uint64_t bytes = 16; bytes <= 1024; bytes *= 2) {
        for (std::uint32_t as = 0; as < 4; ++as) free(take_one(bytes, as), bytes);
    }
    EXPECT_EQ(allocated(), 0U);
    auto all = take_all(kSegment);
    EXPECT_EQ(all.size(), kPool / kSegment) << "large requests close them";
    free(all.back(), kSegment);
    free(take_one(16), 16);
    EXPECT_EQ(take_one(512), all.back()) << "another class's idle block";
    EXPECT_EQ(ref_.allocate({1, 1}, 16), nullptr);
    free(all.back(), 512);
    all.pop_back();
    for (char* p : all) free(p, kSegment);
    expect_whole();
}

TEST(Gallatin, GivesSeveralSlicesBetweenTheLargestAndTheSmallestBlock) {
    // Segments of 16 MiB, the published ones: slices to 4 KiB, blocks from 64 KiB on.
    const Gallatin pool(PoolConfig{.bytes = 4ULL << 30});
    const auto ref = pool.ref();
    auto* const a = static_cast<char*>(ref.allocate({}, 5000));
    EXPECT_EQ(ref.granted_bytes(a, 5000), 8192U);
    EXPECT_EQ(ref.allocate({}, 65535), a + 8192);
    EXPECT_EQ(ref.granted_bytes(a, 65535), 65536U);
    EXPECT_EQ(ref.granted_bytes(a, 65537), 131072U);
    // 4078 slices are left; 254 requests of 16 leave 14, which are given back.
    for (unsigned i = 0; i < 254; ++i) {
        ASSERT_EQ(ref.allocate({}, 65000), a + 8192 + 65536 * (i + 1));
    }
    auto* const b = static_cast<char*>(ref.allocate({}, 65000));
    EXPECT_TRUE(b < a || b >= a + (16 << 20));
    for (unsigned i = 0; i < 255; ++i) ref.deallocate({}, a + 8192 + 65536 * i, 65000);
    ref.deallocate({}, a, 5000);
    ref.deallocate({}, b, 65000);
    EXPECT_NE(ref.allocate({}, pool.pool_bytes()), nullptr);
}

TEST(Gallatin, SizesSegmentsByThePool) {
    const auto segment = [](std::uint64_t bytes) {
        const Gallatin pool(PoolConfig{.bytes = bytes});
        EXPECT_GT(pool.pool_bytes(), bytes - bytes / 16);
        // A run is a multiple of a segment.
        constexpr std::uint64_t kLarge = 1 << 26;
        return pool.ref().granted_bytes(&pool, kLarge + 1) - kLarge;
    };
    EXPECT_EQ(segment(16384), 1024U);
    EXPECT_EQ(segment(300000), 1024U);
    EXPECT_EQ(segment(4 << 20), 16384U);
    EXPECT_EQ(segment(1 << 30), 4U << 20);
    EXPECT_EQ(segment(4ULL << 30), 16U << 20);
    EXPECT_EQ(segment(8ULL << 30), 16U << 20) << "as published";
}

TEST(Gallatin, TakesLittleBesideThePool) {
    for (const std::uint64_t bytes : {1ULL << 20, 16ULL << 20, 1ULL << 30, 8ULL << 30}) {
        const Gallatin pool(PoolConfig{.bytes = bytes, .multiprocessors = 132});
        EXPECT_LT(static_cast<double>(pool.overhead_bytes()), 0.05 * static_cast<double>(bytes));
    }
}

}  // namespace

}  // namespace heapwood::tests
