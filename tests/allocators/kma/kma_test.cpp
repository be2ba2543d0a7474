/// @file
/// What sets KMA apart: pages of superblocks that are reserved before they are searched for, a map
/// and a queue of superblocks, and calls that are late or stalled. kma_queue_test.cpp has the
/// queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "allocators/kma.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/herd.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/small_pool.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::Kma;
using allocators::KmaPolicy;
using allocators::PoolConfig;
using allocators::Region;

TEST(KmaClasses, ArePowersOfTwo) {
    using allocators::kma::class_of;
    std::uint64_t page = 16;
    for (std::uint32_t bytes = 1; bytes <= 1U << 17; ++bytes) {
        if (bytes > page) page *= 2;
        ASSERT_EQ(1U << (allocators::kma::kPageShift + class_of(bytes)), page) << bytes;
    }
    EXPECT_EQ(class_of(1), 1U) << "0 says that there is no superblock";
}

// ---------------------------------------------------------------- superblocks, by one thread

/// A pool of 256 superblocks of 1 KiB, with pages of up to 256 bytes and two slots for each class.
class KmaTest : public SmallPoolTest<Kma, 256 * 1024, 2> {
protected:
    static constexpr std::uint64_t kSuperblock = 1024;
    static constexpr std::uint64_t kPages = kSuperblock / 64;

    void free_all(const std::vector<char*>& pages, std::uint64_t bytes = 64) {
        for (char* p : pages) free(p, bytes);
    }
    /// The superblock of a page of the first one's, from 0 on.
    static std::uint64_t superblock(const char* first, const char* p) {
        return static_cast<std::uint64_t>(p - first) / kSuperblock;
    }
};

TEST_F(KmaTest, HandsASuperblockOutInTheOrderOfItsCount) {
    const auto pages = take(kPages);
    for (std::uint64_t i = 0; i < kPages; ++i) EXPECT_EQ(pages[i], pages[0] + 64 * i);
    char* next = take(1)[0];
    EXPECT_TRUE(next < pages[0] || next >= pages[0] + kSuperblock);
    EXPECT_EQ(allocated(), (kPages + 1) * 64);
    free(next);
    free_all(pages);
    expect_whole();
}

TEST_F(KmaTest, FindsEveryFreePageOfItsSuperblock) {
    auto pages = take(kPages);
    std::shuffle(pages.begin(), pages.end(), std::mt19937_64(test_seed()));
    for (std::size_t freed = 1; freed <= kPages; ++freed) {
        for (std::size_t i = 0; i < freed; ++i) free(pages[i]);
        const auto again = take(freed);
        EXPECT_EQ(std::set(again.begin(), again.end()),
                  std::set(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(freed)));
    }
}

TEST_F(KmaTest, GivesCallersOfDifferentSlotsDifferentSuperblocks) {
    char* a = take_one(64, 0);
    char* b = take_one(64, 1);
    char* c = take_one(64, 2);
    EXPECT_EQ(c, a + 64);
    EXPECT_TRUE(b < a || b >= a + kSuperblock);
    free_all({a, b, c});
    expect_whole();
}

TEST_F(KmaTest, TakesRoomySuperblocksBeforeItOpensOne) {
    const auto pages = take(5 * kPages);
    const std::vector<char*> freed{pages[3], pages[kPages], pages[2 * kPages + 7]};
    free_all(freed);
    const std::uint64_t used = allocated();
    const auto again = take(3);
    EXPECT_EQ(std::set(again.begin(), again.end()), std::set(freed.begin(), freed.end()));
    const auto more = take(1);
    EXPECT_EQ(allocated(), used + 4 * 64);
    free_all(pages);
    free_all(more);
    expect_whole();
}

/// First in, first out, and for whatever size.
TEST_F(KmaTest, ReusesTheSuperblockThatWasFreedFirst) {
    const auto pages = take(4 * kPages);
    for (const std::size_t i : {2U, 0U, 1U}) {
        free_all({pages.begin() + static_cast<std::ptrdiff_t>(i * kPages),
                  pages.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPages)});
    }
    EXPECT_EQ(allocated(), kPages * 64) << "superblocks in the queue are free";
    EXPECT_EQ(take_one(16), pages[2 * kPages]);
    EXPECT_EQ(take_one(32), pages[0]);
    EXPECT_EQ(take_one(256), pages[kPages]);
}

TEST_F(KmaTest, GivesTheQueueToLargeRequestsThatFindNothing) {
    const auto first = take(kPages);
    const auto second = take(1);
    std::vector<void*> rest;
    while (void* p = ref_.allocate({}, kSuperblock)) rest.push_back(p);
    for (std::size_t i = 1; i < kPages; ++i) free(first[i]);
    EXPECT_EQ(ref_.allocate({}, kSuperblock), nullptr) << "a page is in use";
    free(first[0]);
    EXPECT_EQ(ref_.allocate({}, kSuperblock), first[0]);
    free(second[0]);
    EXPECT_EQ(ref_.allocate({}, kSuperblock), second[0]) << "the map keeps it from nobody";
    EXPECT_EQ(ref_.allocate({}, 64), nullptr);
}

TEST_F(KmaTest, GivesLargeRequestsGranules) {
    void* p = ref_.allocate({}, 257);
    EXPECT_EQ(ref_.granted_bytes(p, 257), 272U);
    EXPECT_EQ(ref_.granted_bytes(p, 256), 256U);
    void* most = ref_.allocate({}, kPool / 2);
    EXPECT_NE(most, nullptr);
    for (const std::uint64_t bytes : {std::uint64_t{0}, kPool, kPool + 1, ~std::uint64_t{0}}) {
        EXPECT_EQ(ref_.allocate({}, bytes), nullptr) << bytes;
    }
    free(p, 257);
    free(most, kPool / 2);
    expect_whole();
}

TEST_F(KmaTest, UsesTheLastPageBeforeItRefuses) {
    std::vector<char*> pages;
    while (auto* p = static_cast<char*>(ref_.allocate({}, 64))) pages.push_back(p);
    EXPECT_EQ(pages.size(), kPool / 64);
    std::shuffle(pages.begin(), pages.end(), std::mt19937_64(test_seed()));
    for (std::uint32_t round = 0; round < 50; ++round) {
        const std::set<char*> freed(pages.end() - 3, pages.end());
        for (char* p : freed) free(p);
        for (std::size_t i = pages.size() - 3; i < pages.size(); ++i) {
            pages[i] = take_one(64, round);
            ASSERT_TRUE(freed.contains(pages[i]));
        }
        ASSERT_EQ(ref_.allocate({round, round}, 64), nullptr);
        ASSERT_EQ(ref_.allocate({round, round}, 16), nullptr);
        std::shuffle(pages.begin(), pages.end(), std::mt19937_64(round));
    }
    free_all(pages);
    expect_whole();
}

/// Each class may have an idle superblock in the map while another needs its memory.
TEST_F(KmaTest, TakesIdleSuperblocksOffTheMap) {
    for (std::uint64_t bytes = 16; bytes <= 256; bytes *= 2) {
        for (std::uint32_t i = 0; i < 2; ++i) {
            ref_.deallocate({i, i}, ref_.allocate({i, i}, bytes), bytes);
        }
    }
    EXPECT_EQ(allocated(), 0U) << "a superblock without a page in use is free";
    std::uint64_t given = 0;
    while (ref_.allocate({}, 256) != nullptr) given += 256;
    EXPECT_EQ(given, kPool);
}

TEST_F(KmaTest, WalksPages) {
    char* a = take_one(100);
    char* b = take_one(100);
    char* c = take_one(100);
    EXPECT_EQ(allocated(), 3U * 128);
    free(b, 100);
    std::vector<Region> first;
    pool_.for_each_region([&](const Region& r) {
        if (r.allocated || !first.empty()) first.push_back(r);
    });
    ASSERT_GE(first.size(), 4U);
    EXPECT_EQ(first[0].size, 128U);
    EXPECT_EQ(first[1], (Region{first[0].offset + 128, 128, false}));
    EXPECT_EQ(first[2], (Region{first[0].offset + 256, 128, true}));
    EXPECT_EQ(first[3], (Region{first[0].offset + 384, kSuperblock - 384, false}));
    free_all({a, c}, 100);
    expect_whole();
}

TEST(Kma, SizesSuperblocksByThePool) {
    // Of the largest page, a quarter of a superblock, a byte more is the list's, to the granule.
    const auto largest = [](std::uint64_t bytes) {
        const Kma pool(PoolConfig{.bytes = bytes});
        const auto ref = pool.ref();
        for (std::uint64_t page = 64;; page *= 2) {
            void* p = ref.allocate({}, page + 1);
            const std::uint64_t granted = ref.granted_bytes(p, page + 1);
            ref.deallocate({}, p, page + 1);
            if (granted < 2 * page) return page;
        }
    };
    EXPECT_EQ(largest(1 << 30), 64U << 10) << "256 KiB, the largest";
    EXPECT_EQ(largest(64 << 20), 16U << 10) << "1024 superblocks";
    EXPECT_EQ(largest(65536), 256U) << "1 KiB, the smallest";
    EXPECT_EQ(largest(16384), 256U) << "1 KiB, the smallest";
}

// ---------------------------------------------------------------- calls that are stalled

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct HookedKmaPolicy : KmaPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static constexpr std::uint32_t kRounds = 4;
    static void pause() { Interruptible::pause(); }
};
using HookedKma = allocators::BasicKma<HookedKmaPolicy>;

TEST(KmaInterleaving, StalledCallsHarmNobody) {
    expect_stalls_harm_nobody<HookedKma>({16384, 65536, 262144}, 300, 60);
}

/// Calls `then` once, at the pause of that number of what `call` does. @return whether there is one
template <class Call, class Then>
bool interrupt_at(unsigned number, Call&& call, Then&& then) {
    unsigned step = 0;
    Interruptible::hook = [&] {
        const auto hook = std::exchange(Interruptible::hook, nullptr);
        if (step++ == number) then();
        Interruptible::hook = hook;
    };
    call();
    Interruptible::hook = nullptr;
    return step > number;
}

/// A request has looked at a superblock that is closed, and opened for another class, before it
/// reserves a page, whichever of its steps these come before.
TEST(KmaInterleaving, ALateRequestChangesNothing) {
    constexpr std::uint64_t kPool = 16384;
    unsigned at = 0;
    for (bool stalled = true; stalled; ++at) {
        const HookedKma pool(PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        ref.deallocate({}, ref.allocate({}, 64), 64);
        std::vector<char*> others;
        const auto fill = [&] {
            while (auto* p = static_cast<char*>(ref.allocate({}, 256))) others.push_back(p);
        };
        char* late = nullptr;
        stalled = interrupt_at(
            at, [&] { late = static_cast<char*>(ref.allocate({}, 64)); }, fill);
        for (const char* p : others) {
            EXPECT_TRUE(late == nullptr || late + 64 <= p || p + 256 <= late) << at;
        }
        ref.deallocate({}, late, 64);
        fill();
        EXPECT_EQ(others.size(), kPool / 256) << "before step " << at;
        for (char* p : others) ref.deallocate({}, p, 256);
        EXPECT_NE(ref.allocate({}, kPool), nullptr) << "before step " << at;
    }
    EXPECT_GT(at, 3U);
}

/// A thread that is stalled as it frees the last page of a superblock, or one of a full one, hides
/// nothing else, and holds up nobody.
TEST(KmaInterleaving, AStalledFreeHidesNothingOfOthers) {
    unsigned steps = 0;
    for (const std::size_t left : {0U, 2U}) {
        unsigned at = 0;
        for (bool stalled = true; stalled; ++at) {
            const HookedKma pool(PoolConfig{.bytes = 16384});
            const auto ref = pool.ref();
            std::vector<void*> all;
            while (void* p = ref.allocate({}, 256)) all.push_back(p);
            for (std::size_t i = 1; i < 4 - left; ++i) ref.deallocate({}, all[i], 256);
            stalled = interrupt_at(
                at, [&] { ref.deallocate({}, all[0], 256); },
                [&] {
                    for (std::size_t i = 4; i < 8; ++i) ref.deallocate({}, all[i], 256);
                    for (std::size_t i = 4; i < 8; ++i) EXPECT_NE(ref.allocate({}, 256), nullptr);
                    ref.allocate({}, 16);
                    ref.allocate({}, 1024);
                });
            steps += stalled ? 1 : 0;
        }
    }
    EXPECT_GT(steps, 6U);
}

/// A thread that is stalled as it replaces a slot's superblock keeps the slot busy. Others are
/// served all the same, up to the last page but those of the superblock that it has; or of the
/// chunk of the list that it divides, here half of the pool.
TEST(KmaInterleaving, AStalledReplacementHoldsUpNobody) {
    unsigned served = 0;
    bool stalled = true;
    for (unsigned at = 0; stalled; ++at) {
        const HookedKma pool(PoolConfig{.bytes = 65536});
        const auto ref = pool.ref();
        for (unsigned i = 0; i < 16; ++i) ref.allocate({}, 64);
        std::uint64_t given = 0;
        stalled = interrupt_at(
            at, [&] { ref.allocate({}, 64); },
            [&] {
                while (ref.allocate({}, 64) != nullptr) given += 64;
            });
        if (stalled) {
            EXPECT_GE(given, 32768U) << "before step " << at;
            served += given >= 65536 - 2 * 1024 ? 1 : 0;
        }
    }
    EXPECT_GT(served, 5U);
}

using StallingKma = allocators::BasicKma<Stalling<KmaPolicy>>;

[[maybe_unused]] const bool kma_variants_are_enlisted =
    enlist<StallingKma, SerialMachine>("stalling_kma");

TEST(KmaHerd, IsServedWhileThereIsRoom) {
    expect_all_served<allocators::BasicKma<Sleepy<KmaPolicy>>>({16, 100, 256});
}

}  // namespace

TEST(KmaStress, IsSound) {
    // 16 superblocks, in which there are about 32 blocks: opened, closed and reused all the time.
    stress<StallingKma, SerialMachine>({.warps = 8, .rounds = 1500, .pool = 16384, .largest = 300},
                                       4, false);
}

}  // namespace heapwood::tests
