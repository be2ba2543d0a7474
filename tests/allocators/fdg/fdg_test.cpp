/// @file
/// What sets FDGMalloc apart: superblocks that are a warp's own, in a cache or not, and heaps that
/// are freed as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "allocators/fdgmalloc.cuh"
#include "tests/allocators/cached.h"
#include "tests/allocators/fixture.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::CallerCache;
using allocators::Context;
using allocators::FDGMalloc;
using allocators::PoolConfig;
using allocators::Region;

[[maybe_unused]] const bool fdg_variants_are_enlisted =
    enlist<Cached<FDGMalloc>, SerialMachine>("cached_fdgmalloc") &&
    enlist<Cached<FDGMalloc>, LockstepMachine>("cached_fdgmalloc");

/// A pool of 512 superblocks for four warps, of which the first two have a cache each.
class FDGTest : public ::testing::Test {
protected:
    static constexpr std::uint64_t kBlock = 8192;
    static constexpr std::uint64_t kPool = 512 * kBlock;

    Context warp(unsigned i) { return {0, i, i < 2 ? &caches_[i] : nullptr}; }
    std::uint64_t offset(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - begin_);
    }
    std::uint64_t block_of(const void* p) const { return offset(p) / kBlock; }
    std::uint64_t allocated_bytes() const {
        std::uint64_t bytes = 0;
        pool_.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
        return bytes;
    }

    FDGMalloc pool_{PoolConfig{.bytes = kPool, .callers = 4}};
    FDGMalloc::Ref ref_ = pool_.ref();
    std::array<CallerCache, 2> caches_{};
    const char* begin_ = [this] {
        void* all = ref_.allocate(warp(3), kPool);
        ref_.tidy_up(warp(3));
        return static_cast<const char*>(all);
    }();
};

TEST_F(FDGTest, CutsAWarpsRequestsFromItsSuperblock) {
    for (const unsigned w : {0U, 2U}) {
        void* first = ref_.allocate(warp(w), 40);
        void* second = ref_.allocate(warp(w), 16);
        void* other = ref_.allocate(warp(w + 1), 1);
        void* third = ref_.allocate(warp(w), kBlock - 64);
        EXPECT_EQ(offset(second), offset(first) + 48);
        EXPECT_EQ(offset(third), offset(second) + 16) << "to the last byte";
        EXPECT_NE(block_of(other), block_of(first));
        EXPECT_EQ(ref_.granted_bytes(first, 40), 48U);
        void* fourth = ref_.allocate(warp(w), 16);
        EXPECT_NE(block_of(fourth), block_of(first));
        // What does not fit leaves the rest behind.
        void* whole = ref_.allocate(warp(w), kBlock);
        EXPECT_EQ(offset(whole) % kBlock, 0U);
        EXPECT_NE(block_of(whole), block_of(fourth));
        EXPECT_NE(block_of(ref_.allocate(warp(w), 16)), block_of(fourth));
    }
}

TEST_F(FDGTest, TakesLargeRequestsFromTheList) {
    void* small = ref_.allocate(warp(0), 16);
    void* large = ref_.allocate(warp(0), kBlock + 1);
    EXPECT_EQ(ref_.granted_bytes(large, kBlock + 1), 2 * kBlock);
    EXPECT_EQ(offset(ref_.allocate(warp(0), 16)), offset(small) + 16) << "it is open still";
    EXPECT_EQ(allocated_bytes(), 3 * kBlock);
}

TEST_F(FDGTest, DeallocateDoesNothing) {
    void* p = ref_.allocate(warp(0), 100);
    ref_.deallocate(warp(0), p, 100);
    EXPECT_EQ(allocated_bytes(), kBlock);
    EXPECT_GT(offset(ref_.allocate(warp(0), 100)), offset(p));
}

TEST_F(FDGTest, TidiesUpOneWarpsHeapOnly) {
    for (const unsigned w : {0U, 2U}) {
        for (unsigned round = 0; round < 3; ++round) {
            void* kept = ref_.allocate(warp(w + 1), 100);
            std::memset(kept, 7, 100);
            std::uint64_t taken = 0;
            for (unsigned i = 0; i < 100; ++i) {
                const std::uint64_t bytes = i % 10 == 0 ? 3 * kBlock : 1000;
                void* p = ref_.allocate(warp(w), bytes);
                ASSERT_NE(p, nullptr);
                ASSERT_NE(block_of(p), block_of(kept));
                taken += i % 10 == 0 ? 3 * kBlock : 0;
            }
            taken += (90 + 7) / 8 * kBlock;  // eight of them to a superblock
            EXPECT_EQ(allocated_bytes(), taken + kBlock);
            ref_.tidy_up(warp(w));
            EXPECT_EQ(allocated_bytes(), kBlock) << "the other warp's";
            EXPECT_EQ(static_cast<char*>(kept)[99], 7);
            ref_.tidy_up(warp(w + 1));
            EXPECT_EQ(allocated_bytes(), 0U);
        }
    }
    EXPECT_NE(ref_.allocate(warp(3), kPool), nullptr) << "the pool is whole";
}

TEST_F(FDGTest, TidyingUpLeavesAloneWhatAnotherWarpCutThroughTheSameCache) {
    CallerCache cache{};
    const Context first{0, 0, &cache};
    const Context second{0, 1, &cache};
    ASSERT_NE(ref_.allocate(first, 16), nullptr);
    void* kept = ref_.allocate(second, 16);
    ref_.tidy_up(first);
    while (void* p = ref_.allocate(warp(2), kBlock)) ASSERT_NE(block_of(p), block_of(kept));
    ref_.tidy_up(second);
    EXPECT_NE(ref_.allocate(first, 16), nullptr);
    allocators::flush(ref_, first);
    EXPECT_TRUE(std::ranges::all_of(cache.words, [](std::uint64_t w) { return w == 0; }));
}

TEST_F(FDGTest, WarpsWithoutAHeapShareAndAreNotTidiedUp) {
    void* own = ref_.allocate(warp(2), 16);
    void* stray = ref_.allocate(warp(6), 16);
    EXPECT_NE(block_of(stray), block_of(own));
    EXPECT_EQ(offset(ref_.allocate(warp(10), 16)), offset(stray) + 16);
    ref_.tidy_up(warp(6));
    EXPECT_EQ(allocated_bytes(), 2 * kBlock);
    ref_.tidy_up(warp(2));
    EXPECT_EQ(allocated_bytes(), kBlock);
    pool_.reset();
    EXPECT_EQ(allocated_bytes(), 0U);
}

TEST_F(FDGTest, AFullPoolRefusesAndWorksAfterTidyingUp) {
    while (ref_.allocate(warp(0), kBlock) != nullptr) {
    }
    EXPECT_EQ(allocated_bytes(), kPool);
    for (unsigned i = 0; i < 1000; ++i) EXPECT_EQ(ref_.allocate(warp(0), 100), nullptr);
    EXPECT_EQ(ref_.allocate(warp(2), 1), nullptr);
    ref_.tidy_up(warp(0));
    EXPECT_NE(ref_.allocate(warp(2), 1), nullptr);
    EXPECT_NE(ref_.allocate(warp(0), 100), nullptr);
}

TEST(FDG, MakesSuperblocksSmallerForManyWarps) {
    const auto block = [](std::uint64_t pool, std::uint32_t callers) {
        const FDGMalloc a(PoolConfig{.bytes = pool, .callers = callers});
        a.ref().allocate({0, 0}, 1);
        std::uint64_t bytes = 0;
        a.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
        return bytes;
    };
    EXPECT_EQ(block(1 << 20, 1), 8192U);
    EXPECT_EQ(block(1 << 20, 32), 8192U);
    EXPECT_EQ(block(1 << 20, 33), 4096U) << "four for every warp";
    EXPECT_EQ(block(1 << 20, 4096), 512U) << "no smaller than that";
    EXPECT_EQ(block(16384, 1), 512U);
}

/// The lanes of a warp ask at once, in a heap that is tidied up between rounds.
TEST(FDG, LanesShareAHeap) {
    constexpr unsigned kLanes = 6;
    constexpr unsigned kRequests = 300;
    FDGMalloc a(PoolConfig{.bytes = 1 << 20, .callers = 2});
    const auto ref = a.ref();
    CallerCache cache{};
    for (const bool cached : {false, true}) {
        const Context context{0, 1, cached ? &cache : nullptr};
        for (unsigned round = 0; round < 20; ++round) {
            std::array<std::array<char*, kRequests>, kLanes> blocks{};
            std::vector<std::thread> lanes;
            for (unsigned l = 0; l < kLanes; ++l) {
                lanes.emplace_back([&, l] {
                    for (unsigned i = 0; i < kRequests; ++i) {
                        const std::size_t bytes = 16 + (l + i) % 13 * 30;
                        blocks[l][i] = static_cast<char*>(ref.allocate(context, bytes));
                        if (blocks[l][i] != nullptr) {
                            std::memset(blocks[l][i], static_cast<int>(l), bytes);
                        }
                    }
                });
            }
            for (std::thread& t : lanes) t.join();
            std::set<char*> all;
            for (unsigned l = 0; l < kLanes; ++l) {
                for (unsigned i = 0; i < kRequests; ++i) {
                    const char* p = blocks[l][i];
                    ASSERT_NE(p, nullptr);
                    all.insert(blocks[l][i]);
                    const std::size_t bytes = 16 + (l + i) % 13 * 30;
                    ASSERT_TRUE(std::all_of(p, p + bytes,
                                            [&](char c) { return c == static_cast<char>(l); }));
                }
            }
            ASSERT_EQ(all.size(), kLanes * kRequests);
            ref.tidy_up(context);
        }
    }
    EXPECT_NE(ref.allocate({0, 0}, 1 << 20), nullptr) << "the pool is whole";
}

}  // namespace

}  // namespace heapwood::tests
