/// @file
/// What only circular allocators have: the layout of a fresh pool against numbers worked out by
/// hand, splitting and merging step by step, and pools that need more than 32 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "allocators/circular.cuh"
#include "allocators/circular/divisor.cuh"
#include "allocators/circular/layout.h"
#include "allocators/memory/buffer.h"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::allocators {

namespace {

using circular::granule_shift;
using circular::presplit;
using circular::Presplit;

struct Piece {
    std::uint64_t granules;
    bool allocated;
    bool operator==(const Piece&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Piece& p) {
    return out << p.granules << (p.allocated ? " used" : " free");
}

std::vector<Piece> pieces(const CMalloc& a) {
    std::vector<Piece> all;
    a.for_each_region([&](const Region& r) { all.push_back({r.size / 16, r.allocated}); });
    return all;
}

TEST(CircularLayout, GranuleGrowsWithThePool) {
    const std::uint64_t gib = std::uint64_t{1} << 30;
    EXPECT_EQ(granule_shift(4096), 4U);
    EXPECT_EQ(granule_shift(16 * gib - 33), 4U);  // 2^30 - 3 granules
    EXPECT_EQ(granule_shift(16 * gib - 32), 4U);  // 2^30 - 2
    EXPECT_EQ(granule_shift(16 * gib - 16), 5U);  // would be 2^30 - 1
    EXPECT_EQ(granule_shift(16 * gib), 5U);
    EXPECT_EQ(granule_shift(32 * gib), 6U);  // 2^30 of 32 bytes
    EXPECT_EQ(granule_shift(160 * gib), 8U);
}

TEST(CircularDivisor, DividesAsTheLanguageDoes) {
    const std::uint32_t most = ~std::uint32_t{0};
    std::vector<std::uint32_t> numbers{0, 1, 2, 3, 5, 7, most / 2, most / 2 + 1, most - 1, most};
    tests::Dice dice{tests::test_seed()};
    for (int i = 0; i < 200; ++i) {
        numbers.push_back(static_cast<std::uint32_t>(dice.next() >> (32 + dice.below(32))));
    }
    for (const std::uint32_t by : numbers) {
        if (by == 0) continue;
        const circular::Divisor divisor(by);
        ASSERT_EQ(divisor, by);
        for (const std::uint32_t of : numbers) {
            ASSERT_EQ(divisor.quotient(of), of / by) << of << " / " << by;
            ASSERT_EQ(divisor.remainder(of), of % by) << of << " % " << by;
        }
    }
}

TEST(CircularLayout, HalvesLevelsByEquationOne) {
    // 64 KiB in granules of 16 bytes: 4096. First chunk 16 KiB: 1024; two of 512; four of 256;
    // then eight of 128 would follow (2 KiB, below the smallest chunk), so the rest is one.
    EXPECT_EQ(presplit(4096, 4, 16384, Presplit::halving),
              (std::vector<std::uint32_t>{0, 1024, 1536, 2048, 2304, 2560, 2816, 3072}));
}

TEST(CircularLayout, TakesTheBuildersRatio) {
    // First 100000 B = 6250 granules; two of 80000 B = 5000; four of 64000 B = 4000 (the last ends
    // at 32250); eight of 51200 B = 3200: one ends at 35450, and the second does not fit.
    EXPECT_EQ(
        presplit(38000, 4, 100000, Presplit::levels),
        (std::vector<std::uint32_t>{0, 6250, 11250, 16250, 20250, 24250, 28250, 32250, 35450}));
}

TEST(CircularLayout, RoundsChunksUpToGranules) {
    // 10001 B need 626 granules; 0.8 of them, 8000.8 B, need 501.
    EXPECT_EQ(presplit(2000, 4, 10001, Presplit::levels),
              (std::vector<std::uint32_t>{0, 626, 1127, 1628}));
}

TEST(CircularLayout, IsOneChunkWhereNothingElseFits) {
    EXPECT_EQ(presplit(256, 4, 0, Presplit::levels), std::vector<std::uint32_t>{0});
    EXPECT_EQ(presplit(256, 4, 4096, Presplit::levels), std::vector<std::uint32_t>{0});
    EXPECT_EQ(presplit(256, 4, 1 << 20, Presplit::levels), std::vector<std::uint32_t>{0});
    // Exactly the first and half of the second level.
    EXPECT_EQ(presplit(3 * 512, 4, 16384, Presplit::halving),
              (std::vector<std::uint32_t>{0, 1024}));
}

TEST(CircularLayout, UniformChunksOrNone) {
    // 4100 B need 257 granules: three times in 1024, and what is left.
    EXPECT_EQ(presplit(1024, 4, 4100, Presplit::uniform),
              (std::vector<std::uint32_t>{0, 257, 514, 771}));
    EXPECT_EQ(presplit(1024, 4, 4100, Presplit::none), std::vector<std::uint32_t>{0});
}

struct ByUnits {
    static constexpr std::uint32_t kSmallestShare = 8;
    static constexpr std::uint32_t kSmallestStretch = 1;
    static constexpr std::uint32_t kStretches = 32;
    static constexpr std::uint32_t kStretchesTogether = 4;
};

TEST(CircularLayout, CutsSharesAtMultiplesOfAUnit) {
    // 1000 granules are 62 units of 16. Six times 9 granules need 4 of them; of 3 shares of 19
    // half are 8 groups of 1 unit, of 4 stretches each.
    const circular::Shares s = circular::cut_shares<ByUnits>(1000, 4, 128, 3, 16);
    EXPECT_EQ(s.begin, 4 * 16U);
    EXPECT_EQ(s.count, 3U);
    EXPECT_EQ(s.size, 19 * 16U);
    EXPECT_EQ(s.stretches, 32U);
    EXPECT_EQ(s.stretch_size, 4U);
}

/// Blocks at multiples of their size among others, taken and freed at random.
TEST(Circular, AlignsBlocksIfAsked) {
    constexpr std::uint64_t kPool = 256 * 1024;
    constexpr std::uint64_t kAligned = 2048;
    tests::Dice dice{tests::test_seed()};
    const CFMMalloc pool({.bytes = kPool, .multiprocessors = 2});
    const auto ref = pool.ref();
    const char* begin = nullptr;
    struct Block {
        char* p;
        std::uint64_t bytes;
    };
    std::vector<Block> blocks;
    std::uint64_t aligned = 0;
    std::uint64_t in_front = 0;
    for (unsigned i = 0; i < 20000; ++i) {
        const auto who = static_cast<std::uint32_t>(dice.below(4));
        if (blocks.size() > dice.below(200)) {
            std::swap(blocks[dice.below(blocks.size())], blocks.back());
            ref.deallocate({who, who}, blocks.back().p, blocks.back().bytes);
            blocks.pop_back();
            continue;
        }
        const bool align = dice.below(2) == 0;
        const std::uint64_t bytes = align ? kAligned : dice.size(kAligned);
        bool full;
        auto* p = static_cast<char*>(align ? ref.allocate_aligned({who, who}, bytes, full)
                                           : ref.allocate({who, who}, bytes));
        if (begin == nullptr) begin = ref.address(0);
        if (p == nullptr) continue;
        if (align) {
            ASSERT_EQ((p - begin) % static_cast<std::ptrdiff_t>(kAligned), 0);
            ASSERT_GE(ref.granted_bytes(p, bytes), bytes);
            ++aligned;
        }
        for (const Block& b : blocks) {
            ASSERT_TRUE(p + bytes <= b.p || b.p + b.bytes <= p) << "overlap";
            in_front += align && b.p + b.bytes + 16 <= p && p - b.p < 2048 ? 1 : 0;
        }
        blocks.push_back({p, bytes});
    }
    EXPECT_GT(aligned, 2000U);
    EXPECT_GT(in_front, 20U) << "hardly ever was a chunk cut in front";
    std::uint64_t used = 0;
    pool.for_each_region([&](const Region& r) { used += r.allocated ? 1 : 0; });
    EXPECT_EQ(used, blocks.size());
    for (const Block& b : blocks) ref.deallocate({}, b.p, b.bytes);
    EXPECT_NE(ref.allocate({}, kPool), nullptr) << "the pool is not whole";
}

TEST(Circular, FreshPoolIsSplitBeforehand) {
    const CMalloc a({.bytes = 65536, .largest_request = 32768});
    // 32768 B; 26214.4 B -> 1639 granules; the rest.
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{2048, false}, {1639, false}, {409, false}}));
    EXPECT_GE(a.overhead_bytes(), (4096 + 1) * sizeof(circular::SeparateHeaders::Cell));
}

TEST(Circular, SplitsOnlyWhatIsTwiceAsLarge) {
    CMalloc a({.bytes = 4096});
    const auto r = a.ref();
    void* p = r.allocate({}, 129 * 16);  // more than half: all of it
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{256, true}}));
    EXPECT_EQ(r.granted_bytes(p, 129 * 16), 4096U);
    r.deallocate({}, p, 129 * 16);
    p = r.allocate({}, 128 * 16 - 5);  // rounded up, half of it
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{128, true}, {128, false}}));
    EXPECT_EQ(r.granted_bytes(p, 128 * 16 - 5), 2048U);
}

TEST(Circular, FreeMergesWithTheFreeChunksBehind) {
    CMalloc a({.bytes = 4096});
    const auto r = a.ref();
    std::vector<void*> p;
    for (int i = 0; i < 4; ++i) p.push_back(r.allocate({}, 160));
    r.deallocate({}, p[2], 160);
    EXPECT_EQ(pieces(a),
              (std::vector<Piece>{{10, true}, {10, true}, {10, false}, {10, true}, {216, false}}));
    r.deallocate({}, p[3], 160);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{10, true}, {10, true}, {10, false}, {226, false}}));
    r.deallocate({}, p[1], 160);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{10, true}, {246, false}}));
    r.deallocate({}, p[0], 160);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{256, false}}));
}

TEST(Circular, MergesBeforeItRefuses) {
    CMalloc a({.bytes = 4096});
    const auto r = a.ref();
    std::vector<void*> p;
    for (int i = 0; i < 16; ++i) p.push_back(r.allocate({}, 256));
    EXPECT_EQ(r.allocate({}, 1), nullptr);
    for (int i = 0; i < 8; ++i) r.deallocate({}, p[static_cast<std::size_t>(i)], 256);
    EXPECT_EQ(pieces(a).size(), 16U) << "ascending frees find nothing free behind them";
    EXPECT_EQ(r.allocate({}, 2049), nullptr);
    void* q = r.allocate({}, 2048);
    EXPECT_EQ(q, p[0]);
    EXPECT_EQ(r.granted_bytes(q, 2048), 2048U);
}

/// Blocks of all callers, freed in any order: every stretch still begins with a chunk, or searches
/// in it would walk through the remains of the headers that were merged away.
template <class Policy>
void expect_stretches_kept() {
    constexpr std::uint64_t kPool = 1 << 20;
    constexpr std::uint32_t kMultiprocessors = 3;
    circular::CircularMalloc<Policy> a({.bytes = kPool, .multiprocessors = kMultiprocessors});
    const auto shares = circular::cut_shares<Policy>(kPool / 16, 4, 0, kMultiprocessors);
    ASSERT_GT(shares.stretches, 1U);
    const auto ref = a.ref();
    tests::Dice dice{tests::test_seed()};
    for (int round = 0; round < 3; ++round) {
        std::vector<void*> blocks;
        for (std::uint32_t caller = 0; caller < 64 * kMultiprocessors; ++caller) {
            const Context context{caller % kMultiprocessors, caller};
            blocks.push_back(ref.allocate(context, 16));
            ASSERT_NE(blocks.back(), nullptr);
        }
        for (std::size_t left = blocks.size(); left > 0; --left) {
            std::swap(blocks[dice.below(left)], blocks[left - 1]);
            ref.deallocate({}, blocks[left - 1], 16);
        }
        std::vector<std::uint32_t> starts;
        a.for_each_region([&](const Region& r) {
            EXPECT_FALSE(r.allocated);
            starts.push_back(static_cast<std::uint32_t>(r.offset / 16));
        });
        const auto cuts = circular::starts_of(shares);
        EXPECT_TRUE(std::includes(starts.begin(), starts.end(), cuts.begin(), cuts.end()));
    }
}

TEST(Circular, KeepsItsStretches) {
    expect_stretches_kept<CMMallocPolicy>();
    expect_stretches_kept<CFMMallocPolicy>();
}

TEST(Circular, GoesRoundTheRing) {
    CMalloc a({.bytes = 4096});
    const auto r = a.ref();
    void* first = r.allocate({}, 1024);
    void* second = r.allocate({}, 1024);
    void* third = r.allocate({}, 1024);
    r.deallocate({}, first, 1024);
    r.deallocate({}, second, 1024);
    EXPECT_EQ(r.allocate({}, 1024), second) << "from what was freed last";
    EXPECT_EQ(r.allocate({}, 1024), static_cast<char*>(third) + 1024) << "on";
    EXPECT_EQ(r.allocate({}, 1024), first) << "and round";
    EXPECT_EQ(r.allocate({}, 1), nullptr);
}

/// A pool of that many bytes, or nothing where the machine has no such address space.
std::optional<CMalloc> large_pool(std::uint64_t bytes, std::uint64_t largest_request) {
    try {
        return CMalloc({.bytes = bytes, .largest_request = largest_request});
    } catch (const BufferError&) {
        return std::nullopt;
    }
}

TEST(Circular, HandlesPoolsAboveFourGiB) {
    const std::uint64_t gib = std::uint64_t{1} << 30;
    for (const std::uint64_t bytes : {5 * gib, 17 * gib}) {
        auto a = large_pool(bytes, 0);
        if (!a) GTEST_SKIP() << "no " << bytes << " bytes of address space here";
        const std::uint64_t granule = bytes > 16 * gib ? 32 : 16;
        const auto r = a->ref();
        auto* low = static_cast<char*>(r.allocate({}, 2 * gib + 1));
        auto* high = static_cast<char*>(r.allocate({}, 2 * gib + 1));
        ASSERT_NE(low, nullptr);
        ASSERT_NE(high, nullptr);
        EXPECT_EQ(static_cast<std::uint64_t>(high - low), 2 * gib + granule);
        low[2 * gib] = 1;
        high[2 * gib] = 2;
        EXPECT_EQ(low[2 * gib], 1);
        r.deallocate({}, high, 2 * gib + 1);
        r.deallocate({}, low, 2 * gib + 1);
        std::vector<Region> regions;
        a->for_each_region([&](const Region& region) { regions.push_back(region); });
        ASSERT_EQ(regions.size(), 1U);
        EXPECT_EQ(regions[0].size, bytes);
        EXPECT_NE(r.allocate({}, bytes), nullptr);
    }
}

TEST(Circular, RefusesAPoolThatCannotBeHad) {
    EXPECT_THROW(CMalloc({.bytes = std::uint64_t{1} << 55}), BufferError);
}

}  // namespace

}  // namespace heapwood::allocators
