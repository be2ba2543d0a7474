/// @file
/// What sets Halloc apart: size classes, and slabs that are opened, closed, opened again and
/// returned. halloc_crowd_test.cpp has stalled calls and crowds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "allocators/halloc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/roomy_first.h"
#include "tests/allocators/small_pool.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::Context;
using allocators::Halloc;
using allocators::HallocPolicy;
using allocators::PoolConfig;
using allocators::Region;
using allocators::halloc::SizeClass;

/// Any warp of a GPU with 132 multiprocessors.
Context caller_of(Dice& dice) {
    return {static_cast<std::uint32_t>(dice.below(132)),
            static_cast<std::uint32_t>(dice.below(10000))};
}

// ---------------------------------------------------------------- classes

TEST(HallocClasses, AreThePublishedOnesAtMultiplesOf16AndLarger) {
    const std::vector<std::uint32_t> sizes{16,   32,   48,    64,    96,    128,   192,   256,
                                           384,  512,  768,   1024,  1536,  2048,  3072,  4096,
                                           6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536};
    std::set<std::uint32_t> numbers;
    for (std::uint32_t bytes = 1; bytes <= HallocPolicy::kLargestPiece; ++bytes) {
        const SizeClass k = SizeClass::of(bytes);
        ASSERT_EQ(k.bytes(), *std::ranges::lower_bound(sizes, bytes)) << bytes;
        ASSERT_LT(k.number(), allocators::halloc::kClasses);
        ASSERT_EQ(SizeClass(k.number()).bytes(), k.bytes());
        numbers.insert(k.number());
    }
    EXPECT_EQ(numbers.size(), sizes.size());
    for (const std::uint32_t bytes : sizes) {
        const SizeClass k = SizeClass::of(bytes);
        for (std::uint32_t n = 0; n * bytes < 1U << HallocPolicy::kLargestSlabShift; ++n) {
            ASSERT_EQ(k.piece_at(n * bytes), n) << bytes;
        }
    }
}

// ---------------------------------------------------------------- slabs, by one thread

/// A pool of 256 slabs of 1 KiB, with pieces of up to 64 bytes and two heads for each class.
class HallocTest : public SmallPoolTest<RoomyFirst, 256 * 1024, 2> {
protected:
    static constexpr std::uint64_t kSlab = 1024;
    static constexpr std::uint64_t kPieces = kSlab / 64;

    static Context caller(unsigned i) { return {i, i}; }
};

TEST_F(HallocTest, HandsAnEmptySlabOutToTheLastPiece) {
    const auto pieces = take(kPieces);
    for (std::uint64_t i = 0; i < kPieces; ++i) EXPECT_EQ(pieces[i], pieces[0] + 64 * i);
    EXPECT_EQ(allocated(), kSlab);
    char* next = take(1)[0];
    EXPECT_TRUE(next < pieces[0] || next >= pieces[0] + kSlab);
    EXPECT_EQ(allocated(), 2 * kSlab);
    free(next);
    EXPECT_EQ(allocated(), kSlab) << "a head without a piece in use is free";
    for (char* p : pieces) free(p);
    expect_whole();
}

TEST_F(HallocTest, GivesCallersOfDifferentHeadsDifferentSlabs) {
    char* a = take(1, 0)[0];
    char* b = take(1, 1)[0];
    char* c = take(1, 2)[0];
    EXPECT_EQ(c, a + 64);
    EXPECT_TRUE(b < a || b >= a + kSlab);
    for (char* p : {a, b, c}) free(p);
    expect_whole();
}

TEST_F(HallocTest, UsesARoomyHeadAgainUntilItIsBusy) {
    // Of 16 pieces 9 are 60 %, and 13 are 83.5 %.
    const auto pieces = take(kPieces);
    const std::set<char*> freed(pieces.begin(), pieces.begin() + 7);
    for (char* p : freed) free(p);
    const auto again = take(4);
    for (char* p : again) EXPECT_TRUE(freed.contains(p)) << "not one of the free pieces";
    EXPECT_EQ((std::set(again.begin(), again.end())).size(), 4U);
    EXPECT_EQ(allocated(), kSlab);
    take(1);
    EXPECT_EQ(allocated(), 2 * kSlab) << "busy";
}

TEST_F(HallocTest, ReplacesAHeadThatIsNotRoomy) {
    const auto pieces = take(kPieces);
    for (std::uint64_t i = 0; i < 6; ++i) free(pieces[i]);
    take(1);
    EXPECT_EQ(allocated(), 2 * kSlab);
}

TEST_F(HallocTest, OpensARoomySlabAgain) {
    // Of so few slabs all are looked at.
    const RoomyFirst pool(PoolConfig{.bytes = 32 * kSlab});
    ref_ = pool.ref();
    const auto first = take(kPieces);
    const auto second = take(kPieces);
    const auto third = take(kPieces);
    const std::set<char*> freed(second.begin(), second.begin() + 7);
    for (char* p : freed) free(p);
    const auto again = take(4);
    for (char* p : again) EXPECT_TRUE(freed.contains(p));
    for (const auto* pieces : {&first, &third}) {
        for (char* p : *pieces) free(p);
    }
    const auto more = take(1);
    EXPECT_TRUE(std::ranges::find(second, more[0]) == second.end()) << "it is busy";
}

TEST_F(HallocTest, LeavesSparseSlabsAloneIfItCan) {
    // Of 64 pieces one is 2 %. Whichever of the two slabs is sparse, the other one is opened.
    for (const bool first_is_sparse : {true, false}) {
        const RoomyFirst pool(PoolConfig{.bytes = 32 * kSlab});
        ref_ = pool.ref();
        std::vector<void*> pieces;
        for (unsigned i = 0; i < 3 * 64; ++i) pieces.push_back(ref_.allocate(caller(0), 16));
        const std::size_t sparse = first_is_sparse ? 0 : 64;
        const std::size_t roomy = 64 - sparse;
        const auto free_all = [&](std::size_t begin, std::size_t end) {
            for (; begin < end; ++begin) ref_.deallocate(caller(0), pieces[begin], 16);
        };
        free_all(sparse, sparse + 63);
        free_all(roomy, roomy + 30);
        void* p = ref_.allocate(caller(0), 16);
        EXPECT_LT(std::find(pieces.begin(), pieces.end(), p) - pieces.begin() - roomy, 30U);
        // But rather than a new one the sparse one is taken.
        const auto in_use = [&pool] {
            std::uint64_t bytes = 0;
            pool.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
            return bytes;
        };
        const std::uint64_t before = in_use();
        for (unsigned i = 0; i < 60; ++i) ref_.allocate(caller(0), 16);
        EXPECT_EQ(in_use(), before);
    }
}

TEST_F(HallocTest, UsesTheLastPieceBeforeItRefuses) {
    std::vector<char*> pieces;
    while (auto* p = static_cast<char*>(ref_.allocate(caller(0), 64))) pieces.push_back(p);
    EXPECT_GE(pieces.size(), kPool / 64 * 3 / 4);
    std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(test_seed()));
    for (unsigned round = 0; round < 50; ++round) {
        // A few are free, each in a slab that is busy.
        const std::set<char*> freed(pieces.end() - 3, pieces.end());
        for (char* p : freed) free(p);
        for (std::size_t i = pieces.size() - 3; i < pieces.size(); ++i) {
            pieces[i] = static_cast<char*>(ref_.allocate(caller(round), 64));
            ASSERT_TRUE(freed.contains(pieces[i]));
        }
        ASSERT_EQ(ref_.allocate(caller(round), 64), nullptr);
        ASSERT_EQ(ref_.allocate(caller(round), 16), nullptr);
        std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(round));
    }
    for (char* p : pieces) free(p);
    expect_whole();
}

TEST_F(HallocTest, ReturnsIdleHeadsToWhoeverNeedsThem) {
    // Every head of every class is open, with the rest of the pool in use.
    std::vector<void*> rest;
    for (const std::size_t bytes : {16U, 32U, 48U, 64U}) {
        for (unsigned i = 0; i < 2; ++i) {
            ref_.deallocate(caller(i), ref_.allocate(caller(i), bytes), bytes);
        }
    }
    while (void* p = ref_.allocate(caller(0), kSlab)) rest.push_back(p);
    EXPECT_EQ(allocated(), kPool) << "large requests close them";
    ref_.deallocate(caller(0), rest.back(), kSlab);
    rest.pop_back();
    void* piece = ref_.allocate(caller(0), 16);
    ref_.deallocate(caller(0), piece, 16);
    void* other = ref_.allocate(caller(0), 64);
    EXPECT_NE(other, nullptr) << "another class's idle head";
    EXPECT_EQ(ref_.allocate(caller(1), 16), nullptr);
    free(other);
    for (void* p : rest) ref_.deallocate(caller(0), p, kSlab);
    expect_whole();
}

TEST(Halloc, PrefersAnEmptySlab) {
    const Halloc pool(PoolConfig{.bytes = 65536});
    const auto ref = pool.ref();
    std::vector<char*> pieces;
    for (unsigned i = 0; i < 16; ++i) pieces.push_back(static_cast<char*>(ref.allocate({}, 64)));
    for (unsigned i = 0; i < 15; ++i) ref.deallocate({}, pieces[i], 64);
    char* p = static_cast<char*>(ref.allocate({}, 64));
    EXPECT_TRUE(p < pieces[0] || p >= pieces[0] + 1024);
    // An empty head is as good as another slab.
    for (unsigned i = 0; i < 15; ++i) ref.allocate({}, 64);
    ref.deallocate({}, pieces[15], 64);
    const Halloc other(PoolConfig{.bytes = 65536});
    const auto r = other.ref();
    pieces.clear();
    for (unsigned i = 0; i < 16; ++i) pieces.push_back(static_cast<char*>(r.allocate({}, 64)));
    for (char* q : pieces) r.deallocate({}, q, 64);
    EXPECT_EQ(r.allocate({}, 64), pieces[0]);
}

TEST(Halloc, HasPiecesOfAnEighthOfASlab) {
    constexpr std::uint64_t kSlab = 1U << 16;
    const Halloc pool(PoolConfig{.bytes = 1024 * kSlab});
    const auto ref = pool.ref();
    const auto allocated = [&pool] {
        std::uint64_t bytes = 0;
        pool.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
        return bytes;
    };
    void* pieces[8];
    for (void*& p : pieces) p = ref.allocate({}, kSlab / 8);
    EXPECT_EQ(allocated(), kSlab) << "one slab";
    void* large = ref.allocate({}, kSlab / 8 + 1);
    EXPECT_EQ(allocated(), kSlab + kSlab / 8 + 512) << "one granule more than an eighth";
    ref.deallocate({}, large, kSlab / 8 + 1);
    for (void* p : pieces) ref.deallocate({}, p, kSlab / 8);
    EXPECT_EQ(allocated(), 0U);
}

TEST(Halloc, SizesSlabsByThePool) {
    const auto slab = [](std::uint64_t pool, std::uint32_t multiprocessors) {
        const Halloc h(PoolConfig{.bytes = pool, .multiprocessors = multiprocessors});
        h.ref().allocate({}, 1);
        std::uint64_t bytes = 0;
        h.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
        return bytes;
    };
    EXPECT_EQ(slab(std::uint64_t{4} << 30, 1), 4U << 20) << "the published size";
    EXPECT_EQ(slab(std::uint64_t{4} << 30, 132), 1U << 20) << "16 for each multiprocessor";
    EXPECT_EQ(slab(64 << 20, 1), 1U << 16) << "1024 slabs";
    EXPECT_EQ(slab(16384, 1), 1024U) << "no smaller than that";
}

/// With as many multiprocessors as a GPU has, of which each has a share of the list.
TEST(Halloc, HandsThePoolOutToTheLastSlab) {
    constexpr std::uint64_t kPool = 4 << 20;
    for (const std::size_t bytes : {16U, 64U, 128U, 256U}) {
        const Halloc pool(
            PoolConfig{.bytes = kPool, .largest_request = bytes, .multiprocessors = 132});
        const auto ref = pool.ref();
        std::uint64_t given = 0;
        Dice dice{bytes};
        while (ref.allocate(caller_of(dice), bytes) != nullptr) given += bytes;
        EXPECT_GE(given, kPool * 99 / 100) << bytes;
    }
}

TEST(Halloc, HandsLargeRequestsToCudaIfAsked) {
    constexpr std::uint64_t kPool = 16 << 20;
    Halloc h(PoolConfig{.bytes = kPool, .choices = {{"fallback", "cudamalloc"}}});
    const auto ref = h.ref();
    EXPECT_EQ(h.pool_bytes(), kPool);
    void* piece = ref.allocate({}, 64);
    void* large = ref.allocate({}, 3 << 20);
    ASSERT_NE(piece, nullptr);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(ref.allocate({}, 3 << 20), nullptr) << "a quarter of the pool is CUDA's";
    EXPECT_EQ(ref.granted_bytes(large, 3 << 20), 0U);
    ref.deallocate({}, large, 3 << 20);
    large = ref.allocate({}, 3 << 20);
    EXPECT_NE(large, nullptr);
    ref.deallocate({}, large, 3 << 20);
    ref.deallocate({}, piece, 64);
    unsigned regions = 0;
    h.for_each_region([&](const Region&) { ++regions; });
    EXPECT_EQ(regions, 0U) << "unknown, for CUDA's part cannot be walked";
    EXPECT_THROW(Halloc(PoolConfig{.bytes = 1 << 20, .choices = {{"fallback", "cudamalloc"}}}),
                 std::invalid_argument);
}

/// As the original, so that the two can be compared: what is above its largest piece is CUDA's.
TEST(Halloc, HasPublishedPiecesBesideCudasHeap) {
    const Halloc h(PoolConfig{.bytes = 64 << 20, .choices = {{"fallback", "cudamalloc"}}});
    const Halloc other(PoolConfig{.bytes = 64 << 20});
    for (const auto& [bytes, beside, alone] :
         {std::array<std::uint64_t, 3>{3072, 3072, 3072}, {3073, 0, 4096}}) {
        for (const auto& [pool, granted] : {std::pair{&h, beside}, {&other, alone}}) {
            void* p = pool->ref().allocate({}, bytes);
            ASSERT_NE(p, nullptr);
            EXPECT_EQ(pool->ref().granted_bytes(p, bytes), granted) << bytes;
            pool->ref().deallocate({}, p, bytes);
        }
    }
}

}  // namespace

}  // namespace heapwood::tests
