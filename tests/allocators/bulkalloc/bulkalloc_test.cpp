/// @file
/// What sets BulkAlloc apart: semaphores that count what is promised, bins and chunks that are
/// opened and closed, buddies, and calls that are stalled in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "allocators/bulkalloc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/small_pool.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::BulkAlloc;
using allocators::BulkAllocPolicy;
using allocators::PoolConfig;
using allocators::bulkalloc::available;
using allocators::bulkalloc::Count;
using allocators::bulkalloc::make_count;
using allocators::bulkalloc::prospects;
using allocators::bulkalloc::Wait;

// ---------------------------------------------------------------- semaphores

/// Its waits see nothing come: who waits here does so in vain.
struct ImpatientPolicy : BulkAllocPolicy {
    static constexpr std::uint32_t kPatience = 3;
};
using BulkSemaphore = allocators::bulkalloc::Semaphore<ImpatientPolicy>;

TEST(BulkSemaphore, CountsWhatIsThereAndWhatIsToCome) {
    Count word = make_count(3);
    const BulkSemaphore s(word);
    EXPECT_EQ(s.wait(2, 8), Wait::acquired);
    EXPECT_EQ(word, make_count(1));
    EXPECT_EQ(s.wait(2, 8), Wait::produce);
    EXPECT_EQ(available(word), 1);
    EXPECT_EQ(prospects(word), 7);
    s.signal(6, 6);
    EXPECT_EQ(word, make_count(7));
    EXPECT_EQ(s.take_some(9, 2), 5U);
    EXPECT_EQ(s.take_some(9, 2), 0U);
    EXPECT_FALSE(s.take(1, 3));
    EXPECT_TRUE(s.take(1, 2));
    EXPECT_EQ(word, make_count(1));
}

TEST(BulkSemaphore, GoesOnWithoutAProducerThatIsStalled) {
    Count word = make_count(0);
    const BulkSemaphore s(word);
    s.expect(1);
    EXPECT_EQ(s.wait(1, 0), Wait::none);
    EXPECT_EQ(s.wait(1, 4), Wait::produce);
    s.signal(3, 3);
    s.cancel(1);
    EXPECT_EQ(word, make_count(3)) << "a reservation is left";
}

TEST(BulkSemaphore, HoldsMoreThanThePublishedTwentyBits) {
    Count word = make_count((std::uint64_t{1} << 36) - 1);
    const BulkSemaphore s(word);
    EXPECT_EQ(available(word), (std::int64_t{1} << 36) - 1);
    EXPECT_EQ(s.wait(256, 256), Wait::acquired);
    s.cancel(1U << 26);
    EXPECT_EQ(prospects(word), available(word) - (1 << 26));
    EXPECT_EQ(available(word), (std::int64_t{1} << 36) - 257);
}

// ---------------------------------------------------------------- bins, by one thread

/// A pool of 512 bins of 512 bytes, with blocks of up to 128 bytes, four arenas, and chunks of
/// eight bins.
class BulkAllocTest : public SmallPoolTest<BulkAlloc, 512 * 512, 4> {
protected:
    static constexpr std::uint64_t kBin = 512;
    static constexpr std::uint64_t kChunk = 8 * kBin;
    static constexpr std::uint64_t kEach = kBin / 64;
};

TEST_F(BulkAllocTest, FillsABinAndThenTheNextOfItsChunk) {
    const auto blocks = take(8 * kEach);
    for (std::uint64_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i], blocks[0] + 64 * i);
    char* other = take(1, 1)[0];
    EXPECT_TRUE(other >= blocks[0] + kChunk || other < blocks[0]) << "another arena, another chunk";
    EXPECT_EQ(allocated(), (8 * kEach + 1) * 64);
    free(other);
    for (char* p : blocks) free(p);
    expect_whole();
}

TEST_F(BulkAllocTest, FindsEveryFreeBlockOfItsBin) {
    auto blocks = take(kEach);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(test_seed()));
    for (std::size_t freed = 1; freed <= kEach; ++freed) {
        for (std::size_t i = 0; i < freed; ++i) free(blocks[i]);
        const auto again = take(freed);
        EXPECT_EQ(std::set(again.begin(), again.end()),
                  std::set(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(freed)));
    }
}

TEST_F(BulkAllocTest, UsesTheLastBlockOfAnyArenaBeforeItRefuses) {
    std::vector<char*> blocks;
    while (auto* p = static_cast<char*>(ref_.allocate({}, 64))) blocks.push_back(p);
    EXPECT_EQ(blocks.size(), kPool / 64);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(test_seed()));
    for (std::uint32_t round = 0; round < 50; ++round) {
        const std::set<char*> freed(blocks.end() - 3, blocks.end());
        for (char* p : freed) free(p, 64, round);
        for (std::size_t i = blocks.size() - 3; i < blocks.size(); ++i) {
            blocks[i] = take(1, round + 1)[0];
            ASSERT_TRUE(freed.contains(blocks[i]));
        }
        ASSERT_EQ(ref_.allocate({round, round}, 64), nullptr);
        ASSERT_EQ(ref_.allocate({round, round}, 16), nullptr);
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(round));
    }
    for (char* p : blocks) free(p);
    expect_whole();
}

/// The blocks of a bin are counted for the arenas that freed them, but a bin is closed as a whole.
TEST_F(BulkAllocTest, ClosesABinThatManyArenasFreed) {
    const auto blocks = take(kPool / 64);
    for (std::uint32_t i = 0; i < blocks.size(); ++i) free(blocks[i], 64, i);
    expect_whole();
}

/// Where no chunk is left, a bin is a block of TBuddy.
TEST_F(BulkAllocTest, OpensBinsBetweenLargeBlocks) {
    std::vector<void*> large;
    while (void* p = ref_.allocate({}, kBin)) large.push_back(p);
    ASSERT_EQ(large.size(), kPool / kBin);
    for (std::size_t i = 0; i < large.size(); i += 2) ref_.deallocate({}, large[i], kBin);
    const auto blocks = take(kPool / 64 / 2);
    EXPECT_EQ(ref_.allocate({}, 64), nullptr);
    EXPECT_EQ(allocated(), kPool);
    for (char* p : blocks) free(p);
    for (std::size_t i = 1; i < large.size(); i += 2) ref_.deallocate({}, large[i], kBin);
    expect_whole();
}

TEST_F(BulkAllocTest, GivesPowersOfTwoAtMultiplesOfTheirSize) {
    auto* begin = static_cast<char*>(ref_.allocate({}, kPool));
    ref_.deallocate({}, begin, kPool);
    for (std::uint64_t bytes = 1; bytes <= kPool; bytes = bytes * 3 / 2 + 1) {
        auto* p = static_cast<char*>(ref_.allocate({}, bytes));
        ASSERT_NE(p, nullptr) << bytes;
        const std::uint64_t granted = std::max<std::uint64_t>(std::bit_ceil(bytes), 16);
        const std::uint64_t expected = granted == 256 ? kBin : granted;  // more than 128: a bin
        EXPECT_EQ(ref_.granted_bytes(p, bytes), expected);
        EXPECT_EQ(static_cast<std::uint64_t>(p - begin) % expected, 0U);
        EXPECT_EQ(allocated(), expected);
        ref_.deallocate({}, p, bytes);
    }
    expect_whole();
}

TEST(BulkAlloc, IsAForestIfThePoolIsNoPowerOfTwo) {
    constexpr std::uint64_t kBin = 512;
    constexpr std::uint64_t kBins = 32 + 8 + 4 + 1;
    const BulkAlloc pool(PoolConfig{.bytes = kBins * kBin + 100});
    ASSERT_EQ(pool.pool_bytes(), kBins * kBin);
    const auto ref = pool.ref();
    EXPECT_EQ(ref.allocate({}, 64 * kBin), nullptr);
    for (int round = 0; round < 2; ++round) {
        std::vector<std::pair<void*, std::uint64_t>> blocks;
        for (const std::uint64_t bins : {1U, 4U, 8U, 32U}) {
            blocks.emplace_back(ref.allocate({}, bins * kBin), bins * kBin);
            EXPECT_NE(blocks.back().first, nullptr) << bins;
        }
        EXPECT_EQ(ref.allocate({}, 16), nullptr);
        for (const auto& [p, bytes] : blocks) ref.deallocate({}, p, bytes);
    }
}

// ---------------------------------------------------------------- calls that are stalled

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct HookedBulkAllocPolicy : BulkAllocPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static constexpr std::uint32_t kLooks = 4;
    static void pause() { Interruptible::pause(); }
};
using HookedBulkAlloc = allocators::BasicBulkAlloc<HookedBulkAllocPolicy>;

TEST(BulkAllocInterleaving, StalledCallsHarmNobody) {
    expect_stalls_harm_nobody<HookedBulkAlloc>({16384, 65536, 262144}, 300, 60);
}

/// Whichever of its steps a caller is stalled at, others get all the memory but what it may have in
/// hand: a chunk, or half the pool that it is splitting.
TEST(BulkAllocInterleaving, AStalledCallerCostsAChunkAtMost) {
    constexpr std::uint64_t kPool = 16384;
    constexpr std::uint64_t kChunk = 1024;
    for (unsigned stalled_at = 0;; ++stalled_at) {
        const HookedBulkAlloc pool(PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        // The pool is not in one piece, or the caller would have it all in hand.
        std::vector<void*> pieces;
        while (void* p = ref.allocate({}, kChunk)) pieces.push_back(p);
        void* pin = pieces.back();
        pieces.pop_back();
        for (std::size_t i = 0; i < pieces.size(); i += 2) ref.deallocate({}, pieces[i], kChunk);
        std::uint64_t given = 0;
        unsigned step = 0;
        bool stalled = false;
        Interruptible::hook = [&] {
            if (step++ != stalled_at) return;
            const auto hook = std::exchange(Interruptible::hook, nullptr);
            stalled = true;
            std::vector<void*> others;
            while (void* p = ref.allocate({}, 64)) others.push_back(p);
            given = others.size() * 64;
            for (void* p : others) ref.deallocate({}, p, 64);
            Interruptible::hook = hook;
        };
        void* p = ref.allocate({}, 64);
        EXPECT_NE(p, nullptr) << stalled_at;
        ref.deallocate({}, p, 64);
        Interruptible::hook = nullptr;
        if (!stalled) {
            EXPECT_GT(stalled_at, 10U);
            break;
        }
        EXPECT_GE(given, (pieces.size() + 1) / 2 * kChunk - kChunk) << stalled_at;
        for (std::size_t i = 1; i < pieces.size(); i += 2) ref.deallocate({}, pieces[i], kChunk);
        ref.deallocate({}, pin, kChunk);
        EXPECT_NE(ref.allocate({}, kPool), nullptr) << stalled_at;
    }
}

using StallingBulkAlloc = allocators::BasicBulkAlloc<Stalling<BulkAllocPolicy>>;

[[maybe_unused]] const bool bulkalloc_variants_are_enlisted =
    enlist<StallingBulkAlloc, SerialMachine>("stalling_bulkalloc");

}  // namespace

TEST(BulkAllocStress, IsSound) {
    // 32 bins, in which there are about 32 blocks: opened, closed, split and merged all the time.
    stress<StallingBulkAlloc, SerialMachine>(
        {.warps = 8, .rounds = 1500, .pool = 16384, .largest = 300}, 4, false);
}

}  // namespace heapwood::tests
