/// @file
/// What sets DynaSOAr apart: slices of blocks with a word of bits, active blocks, and calls that
/// are late or stalled. bit_tree_test.cpp has the trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/dynasoar.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/herd.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/small_pool.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::DynaSOAr;
using allocators::DynaSOArPolicy;
using allocators::PoolConfig;
using allocators::Region;

// ---------------------------------------------------------------- blocks, by one thread

/// A pool of 1024 segments of 4 KiB, with slices of 16 to 256 bytes, 16 to a block.
class DynaSOArTest : public SmallPoolTest<DynaSOAr, 1024 * 4096, 4> {
protected:
    static constexpr std::uint64_t kSegment = 4096;
    static constexpr std::uint64_t kSlices = 16;
};

TEST_F(DynaSOArTest, ShowsEverySlice) {
    std::vector<char*> slices;
    for (std::uint64_t i = 0; i < kSlices; ++i) slices.push_back(take_one(64));
    std::ranges::sort(slices);
    for (std::uint64_t i = 0; i < kSlices; ++i) EXPECT_EQ(slices[i], slices[0] + 64 * i);
    EXPECT_EQ(allocated(), kSlices * 64);
    char* const next = take_one(64);
    EXPECT_EQ(next, slices[0] + kSlices * 64) << "the next block of the segment";
    free(slices[3], 64);
    EXPECT_EQ(allocated(), kSlices * 64);
    EXPECT_EQ(take_one(64, 1), slices[3]) << "it is free at once, and the block is active";
    char* const other = take_one(32);
    EXPECT_NE((other - slices[0]) / static_cast<std::ptrdiff_t>(kSegment), 0);
    for (char* p : slices) free(p, 64);
    free(next, 64);
    free(other, 32);
    expect_whole();
}

TEST_F(DynaSOArTest, BeginsAtABitThatDependsOnTheWarp) {
    char* const first = static_cast<char*>(ref_.allocate({0, 7}, 64));
    EXPECT_EQ(ref_.allocate({0, 7}, 64), first + 7 * 64);
    EXPECT_EQ(ref_.allocate({0, 7}, 64), first + 8 * 64);
    EXPECT_EQ(ref_.allocate({0, 15}, 64), first + 15 * 64);
    EXPECT_EQ(ref_.allocate({0, 31}, 64), first + 64);
}

TEST_F(DynaSOArTest, FindsEveryFreeSlice) {
    std::vector<char*> all;
    for (std::uint64_t i = 0; i < 20 * kSlices; ++i) all.push_back(take_one(128));
    const std::uint64_t used = allocated();
    std::mt19937_64 random(test_seed());
    for (std::size_t freed = 1; freed < all.size(); freed += 7) {
        std::shuffle(all.begin(), all.end(), random);
        for (std::size_t i = 0; i < freed; ++i) free(all[i], 128);
        for (std::size_t i = 0; i < freed; ++i) {
            all[i] = take_one(128, static_cast<std::uint32_t>(random() % 4));
        }
        ASSERT_EQ(allocated(), used);
    }
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

TEST_F(DynaSOArTest, ReturnsABlockWithItsLastSlice) {
    std::vector<char*> slices;
    for (std::uint64_t i = 0; i < 16 * kSlices; ++i) slices.push_back(take_one(16));
    const auto rest = take_all(kSegment);
    EXPECT_EQ(ref_.allocate({}, 32), nullptr);
    for (std::uint64_t i = 1; i < slices.size(); ++i) free(slices[i], 16);
    EXPECT_EQ(ref_.allocate({}, 32), nullptr) << "a slice keeps its segment";
    free(slices[0], 16);
    char* const other = take_one(200);
    EXPECT_EQ((other - slices[0]) / static_cast<std::ptrdiff_t>(kSegment), 0);
    EXPECT_EQ(ref_.allocate({}, 16), nullptr) << "the segment has another class";
    free(other, 200);
    for (char* p : rest) free(p, kSegment);
    expect_whole();
}

TEST_F(DynaSOArTest, GivesBlocksAndRunsToRequestsAboveSlices) {
    char* const a = take_one(257);
    EXPECT_EQ(ref_.granted_bytes(a, 257), 512U);
    EXPECT_EQ(take_one(512), a + 512);
    char* const slice = take_one(32);
    EXPECT_EQ(slice, a + 1024) << "a block of slices of the same segment";
    char* const run = take_one(3 * kSegment + 1);
    EXPECT_EQ(ref_.granted_bytes(run, 3 * kSegment + 1), 4 * kSegment);
    EXPECT_EQ(allocated(), 1024 + 32 + 4 * kSegment);
    EXPECT_EQ(ref_.allocate({}, kPool), nullptr);
    EXPECT_EQ(ref_.allocate({}, kPool + 1), nullptr);
    EXPECT_EQ(ref_.allocate({}, 0), nullptr);
    free(a, 257);
    free(slice, 32);
    free(run, 3 * kSegment + 1);
    free(a + 512, 512);
    expect_whole();
}

TEST_F(DynaSOArTest, UsesTheLastSliceBeforeItRefuses) {
    for (const std::uint64_t bytes : {16U, 48U, 256U, 500U, 2048U}) {
        const std::uint64_t granted = ref_.granted_bytes(&pool_, bytes);
        auto all = take_all(bytes, 5);
        EXPECT_EQ(all.size(), kPool / granted) << bytes;
        EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
        EXPECT_EQ(allocated(), kPool);
        for (unsigned i = 0; i < 2000; ++i) ASSERT_EQ(ref_.allocate({i, i}, bytes), nullptr);
        std::shuffle(all.begin(), all.end(), std::mt19937_64(test_seed()));
        free(all.back(), bytes);
        EXPECT_EQ(take_one(bytes, 3), all.back());
        for (char* p : all) free(p, bytes);
        expect_whole();
    }
}

TEST(DynaSOAr, HasBlocksOf64SlicesButInSmallPools) {
    const auto slices = [](std::uint64_t bytes) {
        const DynaSOAr pool(PoolConfig{.bytes = bytes});
        const auto ref = pool.ref();
        for (std::uint64_t request = 1; request <= 1 << 20; request += 1 + request / 8) {
            const std::uint64_t granted = ref.granted_bytes(&pool, request);
            EXPECT_GE(granted, request);
            EXPECT_TRUE(granted <= 16 || granted < 2 * request) << "of " << request;
        }
        EXPECT_NE(ref.allocate({}, 16), nullptr);
        std::vector<std::uint64_t> sizes;
        pool.for_each_region([&](const Region& r) { sizes.push_back(r.size); });
        EXPECT_EQ(sizes[0], 16U);
        EXPECT_EQ(sizes[1] + 16, sizes[2]) << "the rest of a block, and the next one";
        return sizes[2] / 16;
    };
    EXPECT_EQ(slices(16384), 8U);
    EXPECT_EQ(slices(16 << 20), 32U);
    EXPECT_EQ(slices(64 << 20), 64U);
    EXPECT_EQ(slices(1 << 30), 64U);
}

TEST(DynaSOAr, TakesLittleBesideThePool) {
    const auto part = [](std::uint64_t bytes) {
        const DynaSOAr pool(PoolConfig{.bytes = bytes, .multiprocessors = 132});
        return static_cast<double>(pool.overhead_bytes()) / static_cast<double>(bytes);
    };
    EXPECT_LT(part(1 << 20), 0.09);
    EXPECT_LT(part(64 << 20), 0.015);
    EXPECT_LT(part(1 << 30), 0.013);
}

// ---------------------------------------------------------------- calls that are late or stalled

/// Whoever is stalled here stays so until the caller returns.
struct HookedDynaSOArPolicy : DynaSOArPolicy {
    static constexpr std::uint32_t kRounds = 4;
    static void pause() { Interruptible::pause(); }
};
using HookedDynaSOAr = allocators::BasicDynaSOAr<HookedDynaSOArPolicy>;

TEST(DynaSOArInterleaving, StalledCallsHarmNobody) {
    expect_stalls_harm_nobody<HookedDynaSOAr>({16384, 131072, 4 << 20}, 200, 40);
}

/// A request has looked at a block that returns, and is open for another class, before it clears a
/// bit; whichever of its steps these come before.
TEST(DynaSOArInterleaving, ALateRequestGivesBackWhatIsOfAnotherClass) {
    constexpr std::uint64_t kPool = 16384;
    unsigned late_ones = 0;
    for (unsigned at = 0; at < 6; ++at) {
        const HookedDynaSOAr pool(PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        std::vector<void*> segments;
        for (unsigned i = 1; i < kPool / 1024; ++i) segments.push_back(ref.allocate({}, 1024));
        void* const first = ref.allocate({}, 16);
        std::vector<char*> others;
        unsigned step = 0;
        Interruptible::hook = [&] {
            const auto hook = std::exchange(Interruptible::hook, nullptr);
            if (step++ == at) {
                ref.deallocate({}, first, 16);
                while (auto* p = static_cast<char*>(ref.allocate({}, 64))) others.push_back(p);
                if (!others.empty()) ref.deallocate({}, others.back(), 64);
                if (!others.empty()) others.pop_back();
            }
            Interruptible::hook = hook;
        };
        auto* const late = static_cast<char*>(ref.allocate({}, 16));
        Interruptible::hook = nullptr;
        if (step <= at) continue;
        late_ones += late == nullptr ? 1 : 0;
        for (const char* p : others) {
            EXPECT_TRUE(late == nullptr || late + 16 <= p || p + 64 <= late);
        }
        ref.deallocate({}, late, 16);
        if (late == nullptr) {
            EXPECT_NE(ref.allocate({}, 64), nullptr) << "the bit is set again, " << at;
            EXPECT_EQ(others.size(), 15U);
        }
    }
    EXPECT_GT(late_ones, 0U);
}

/// A thread that is stalled between freeing a slice and listing its block hides no other slice of
/// the block.
TEST(DynaSOArInterleaving, AStalledFreeHidesNothingOfOthers) {
    for (unsigned at = 0; at < 4; ++at) {
        const HookedDynaSOAr pool(PoolConfig{.bytes = 16384});
        const auto ref = pool.ref();
        std::vector<void*> all;
        while (void* p = ref.allocate({}, 64)) all.push_back(p);
        unsigned step = 0;
        Interruptible::hook = [&] {
            const auto hook = std::exchange(Interruptible::hook, nullptr);
            if (step++ == at) {
                ref.deallocate({}, all[1], 64);
                EXPECT_NE(ref.allocate({}, 64), nullptr) << "before step " << at;
            }
            Interruptible::hook = hook;
        };
        ref.deallocate({}, all[0], 64);
        Interruptible::hook = nullptr;
    }
}

using StallingDynaSOAr = allocators::BasicDynaSOAr<Stalling<DynaSOArPolicy>>;

[[maybe_unused]] const bool dynasoar_variants_are_enlisted =
    enlist<StallingDynaSOAr, SerialMachine>("stalling_dynasoar");

TEST(DynaSOArHerd, IsServedWhileThereIsRoom) {
    expect_all_served<allocators::BasicDynaSOAr<Sleepy<DynaSOArPolicy>>>({16, 100, 512, 1024});
}

}  // namespace

TEST(DynaSOArStress, IsSound) {
    // 16 segments, which are divided and taken apart all the time.
    stress<StallingDynaSOAr, SerialMachine>(
        {.warps = 8, .rounds = 1500, .pool = 16384, .largest = 300}, 4, false);
}

}  // namespace heapwood::tests
