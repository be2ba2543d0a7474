/// @file
/// What sets the allocator of LLVM's libc apart: size classes, slabs that are entered, left, closed
/// and opened again, and calls that are stalled in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "allocators/llvm_libc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/small_pool.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::LlvmLibc;
using allocators::LlvmLibcPolicy;
using allocators::PoolConfig;
using allocators::Region;
using LlvmClass = allocators::llvm_libc::SizeClass;

// ---------------------------------------------------------------- classes and words

TEST(LlvmLibcClasses, ArePowersOfTwoTimes1And15And175) {
    std::set<std::uint32_t> sizes;
    for (std::uint32_t power = 16; power <= 1U << 19; power *= 2) {
        for (const std::uint32_t quarters : {4U, 6U, 7U}) {
            const std::uint32_t bytes = power / 4 * quarters;
            if (bytes % 16 == 0 && bytes <= 1U << 19) sizes.insert(bytes);
        }
    }
    std::set<std::uint32_t> numbers;
    for (std::uint32_t bytes = 1; bytes <= 1U << 19; ++bytes) {
        const LlvmClass k = LlvmClass::of(bytes);
        ASSERT_EQ(k.bytes(), *sizes.lower_bound(bytes)) << bytes;
        ASSERT_LT(k.number(), allocators::llvm_libc::kClasses);
        ASSERT_GT(k.number(), 0U) << "that says that there is no slab";
        ASSERT_EQ(LlvmClass(k.number()).bytes(), k.bytes());
        numbers.insert(k.number());
    }
    EXPECT_EQ(numbers.size(), sizes.size());
    for (const std::uint32_t bytes : sizes) {
        const LlvmClass k = LlvmClass::of(bytes);
        for (std::uint32_t n = 0; (n + 1) * bytes <= 1U << LlvmLibcPolicy::kLargestSlabShift; ++n) {
            ASSERT_EQ(k.piece_at(n * bytes), n) << bytes;
        }
    }
}

TEST(LlvmLibcWords, ARunIsAsLongAsThereAreLanesOrEndsWithItsWord) {
    using allocators::llvm_libc::run_of;
    EXPECT_EQ(run_of(0, 32), ~0U);
    EXPECT_EQ(run_of(0, 1), 1U);
    EXPECT_EQ(run_of(5, 3), 0xe0U);
    EXPECT_EQ(run_of(30, 7), 0xc0000000U);
    EXPECT_EQ(run_of(31, 32), 0x80000000U);
}

// ---------------------------------------------------------------- slabs, by one thread

/// A pool of 256 slabs of 1 KiB, with pieces of up to 256 bytes and two slots for each class.
class LlvmLibcTest : public SmallPoolTest<LlvmLibc, 256 * 1024, 2> {
protected:
    static constexpr std::uint64_t kSlab = 1024;
    static constexpr std::uint64_t kPieces = kSlab / 64;
};

TEST_F(LlvmLibcTest, HandsASlabOutInTheOrderOfItsCount) {
    const auto pieces = take(kPieces);
    for (std::uint64_t i = 0; i < kPieces; ++i) EXPECT_EQ(pieces[i], pieces[0] + 64 * i);
    char* next = take(1)[0];
    EXPECT_TRUE(next < pieces[0] || next >= pieces[0] + kSlab);
    EXPECT_EQ(allocated(), (kPieces + 1) * 64);
    free(next);
    for (char* p : pieces) free(p);
    expect_whole();
}

TEST_F(LlvmLibcTest, FindsEveryFreePieceOfItsSlab) {
    auto pieces = take(kPieces);
    std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(test_seed()));
    for (std::size_t freed = 1; freed <= kPieces; ++freed) {
        for (std::size_t i = 0; i < freed; ++i) free(pieces[i]);
        const auto again = take(freed);
        EXPECT_EQ(std::set(again.begin(), again.end()),
                  std::set(pieces.begin(), pieces.begin() + freed));
    }
}

TEST_F(LlvmLibcTest, GivesCallersOfDifferentSlotsDifferentSlabs) {
    char* a = take(1, 0)[0];
    char* b = take(1, 1)[0];
    char* c = take(1, 2)[0];
    EXPECT_EQ(c, a + 64);
    EXPECT_TRUE(b < a || b >= a + kSlab);
    for (char* p : {a, b, c}) free(p);
    expect_whole();
}

TEST_F(LlvmLibcTest, ClosesASlabOutsideOfSlotsWithItsLastPiece) {
    const auto first = take(kPieces);
    const auto second = take(1);
    std::vector<void*> rest;
    while (void* p = ref_.allocate({}, kSlab)) rest.push_back(p);
    for (std::size_t i = 1; i < kPieces; ++i) free(first[i]);
    EXPECT_EQ(ref_.allocate({}, kSlab), nullptr) << "a piece is in use";
    free(first[0]);
    EXPECT_EQ(ref_.allocate({}, kSlab), first[0]);
    free(second[0]);
    EXPECT_NE(ref_.allocate({}, kSlab), nullptr) << "a slot keeps a slab from nobody";
}

TEST_F(LlvmLibcTest, UsesTheLastPieceBeforeItRefuses) {
    std::vector<char*> pieces;
    while (auto* p = static_cast<char*>(ref_.allocate({}, 64))) pieces.push_back(p);
    EXPECT_GE(pieces.size(), kPool / 64 * 99 / 100);
    std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(test_seed()));
    for (std::uint32_t round = 0; round < 50; ++round) {
        const std::set<char*> freed(pieces.end() - 3, pieces.end());
        for (char* p : freed) free(p);
        for (std::size_t i = pieces.size() - 3; i < pieces.size(); ++i) {
            pieces[i] = take(1, round)[0];
            ASSERT_TRUE(freed.contains(pieces[i]));
        }
        ASSERT_EQ(ref_.allocate({round, round}, 64), nullptr);
        ASSERT_EQ(ref_.allocate({round, round}, 16), nullptr);
        std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(round));
    }
    for (char* p : pieces) free(p);
    expect_whole();
}

/// Each class may have an idle slab in a slot while another needs its memory.
TEST_F(LlvmLibcTest, TakesIdleSlabsOffTheirSlots) {
    for (std::uint32_t bytes = 16; bytes <= 256; bytes += 16) {
        for (std::uint32_t i = 0; i < 2; ++i) {
            ref_.deallocate({i, i}, ref_.allocate({i, i}, bytes), bytes);
        }
    }
    EXPECT_EQ(allocated(), 0U) << "a slab without a piece in use is free";
    std::uint64_t given = 0;
    while (ref_.allocate({}, 256) != nullptr) given += 256;
    EXPECT_GE(given, kPool * 99 / 100);
}

TEST_F(LlvmLibcTest, WalksPieces) {
    void* a = ref_.allocate({}, 100);
    void* b = ref_.allocate({}, 100);
    void* c = ref_.allocate({}, 100);
    EXPECT_EQ(ref_.granted_bytes(a, 100), 112U);
    EXPECT_EQ(allocated(), 3U * 112);
    ref_.deallocate({}, b, 100);
    std::vector<Region> first;
    pool_.for_each_region([&](const Region& r) {
        if (r.allocated || !first.empty()) first.push_back(r);
    });
    ASSERT_GE(first.size(), 4U);
    EXPECT_EQ(first[0].size, 112U);
    EXPECT_EQ(first[1], (Region{first[0].offset + 112, 112, false}));
    EXPECT_EQ(first[2], (Region{first[0].offset + 224, 112, true}));
    EXPECT_EQ(first[3], (Region{first[0].offset + 336, kSlab - 336, false}));
    ref_.deallocate({}, a, 100);
    ref_.deallocate({}, c, 100);
    expect_whole();
}

TEST(LlvmLibc, SizesSlabsByThePool) {
    // Of the largest piece, a quarter of a slab, a byte more is the list's, to the granule.
    const auto largest = [](std::uint64_t bytes) {
        const LlvmLibc pool(PoolConfig{.bytes = bytes});
        const auto ref = pool.ref();
        std::uint64_t piece = 16;
        for (;; piece *= 2) {
            void* p = ref.allocate({}, piece + 1);
            const std::uint64_t granted = ref.granted_bytes(p, piece + 1);
            ref.deallocate({}, p, piece + 1);
            if (granted < piece * 3 / 2 && piece > 32) return piece;
        }
    };
    EXPECT_EQ(largest(std::uint64_t{8} << 30), 512U << 10) << "the published slab, of 2 MiB";
    EXPECT_EQ(largest(64 << 20), 16U << 10) << "1024 slabs";
    EXPECT_EQ(largest(16384), 256U) << "slabs of 1 KiB";
}

// ---------------------------------------------------------------- calls that are stalled

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct HookedLlvmLibcPolicy : LlvmLibcPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static void pause() { Interruptible::pause(); }
};
using HookedLlvmLibc = allocators::BasicLlvmLibc<HookedLlvmLibcPolicy>;

TEST(LlvmLibcInterleaving, StalledCallsHarmNobody) {
    expect_stalls_harm_nobody<HookedLlvmLibc>({16384, 65536, 262144}, 300, 60);
}

/// A request that learned of a slab enters it after it has been closed, or leaves it after it has
/// been opened for another class, whichever of its steps that comes before.
TEST(LlvmLibcInterleaving, ALateRequestLeavesAGuardAsItWas) {
    constexpr std::uint64_t kPool = 16384;
    for (unsigned closes = 0; closes < 4; ++closes) {
        for (unsigned opens = closes; opens < 6; ++opens) {
            const HookedLlvmLibc pool(PoolConfig{.bytes = kPool});
            const auto ref = pool.ref();
            ref.deallocate({}, ref.allocate({}, 64), 64);
            std::vector<char*> others;
            const auto take = [&] { return static_cast<char*>(ref.allocate({}, 256)); };
            unsigned step = 0;
            Interruptible::hook = [&] {
                const auto hook = std::exchange(Interruptible::hook, nullptr);
                if (step == closes) {
                    void* all = ref.allocate({}, kPool);
                    ref.deallocate({}, all, kPool);
                }
                if (step++ == opens) {
                    while (char* p = take()) others.push_back(p);
                }
                Interruptible::hook = hook;
            };
            auto* late = static_cast<char*>(ref.allocate({}, 64));
            Interruptible::hook = nullptr;
            for (const char* p : others)
                EXPECT_TRUE(late == nullptr || late + 64 <= p || p + 256 <= late);
            ref.deallocate({}, late, 64);
            while (char* p = take()) others.push_back(p);
            std::ranges::sort(others);
            ASSERT_EQ(others.size(), kPool / 256);
            for (std::size_t i = 1; i < others.size(); ++i) {
                EXPECT_EQ(others[i], others[i - 1] + 256);
                if (i % 4 != 0) ref.deallocate({}, others[i], 256);
            }
            EXPECT_EQ(ref.allocate({}, 1024), nullptr) << "each slab has a piece in use";
            for (std::size_t i = 0; i < others.size(); i += 4) ref.deallocate({}, others[i], 256);
            EXPECT_NE(ref.allocate({}, kPool), nullptr) << "a slab is counted as in use";
        }
    }
}

/// Lanes always act for one another, in groups of one.
struct CrowdedLlvmLibcPolicy : LlvmLibcPolicy {
    static bool is_crowded() { return true; }
};
using StallingLlvmLibc = allocators::BasicLlvmLibc<Stalling<LlvmLibcPolicy>>;

[[maybe_unused]] const bool llvm_libc_variants_are_enlisted =
    enlist<StallingLlvmLibc, SerialMachine>("stalling_llvm_libc") &&
    enlist<allocators::BasicLlvmLibc<CrowdedLlvmLibcPolicy>, SerialMachine>("crowded_llvm_libc");

}  // namespace

TEST(LlvmLibcStress, IsSound) {
    // 16 slabs, in which there are about 32 blocks: opened, entered late and closed all the time.
    stress<StallingLlvmLibc, SerialMachine>(
        {.warps = 8, .rounds = 1500, .pool = 16384, .largest = 300}, 4, false);
}

}  // namespace heapwood::tests
