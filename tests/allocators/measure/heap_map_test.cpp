/// @file
/// Maps of pools against a count of every byte, and of a pool that an allocator has.
#include "allocators/measure/heap_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "allocators/circular.cuh"
#include "tests/kdtree/dice.h"

namespace heapwood::allocators {
namespace {

using kdtree::tests::Dice;

/// Regions one after the other, now and then with bytes between them that are in none.
std::vector<Region> random_regions(Dice& dice, std::uint64_t pool) {
    std::vector<Region> regions;
    for (std::uint64_t at = 0; at < pool;) {
        if (dice.below(4) == 0) at += 1 + dice.below(300);
        const std::uint64_t size = 1 + dice.below(dice.below(5) == 0 ? 9000 : 60);
        if (at + size > pool) break;
        regions.push_back({at, size, dice.below(3) != 0});
        at += size;
    }
    std::shuffle(regions.begin(), regions.end(), dice);
    return regions;
}

std::uint64_t last_allocated(const std::vector<Region>& regions) {
    std::uint64_t end = 0;
    for (const Region& r : regions) {
        if (r.allocated) end = std::max(end, r.offset + r.size);
    }
    return end;
}

/// One cell byte by byte: what letter it may have, for sizes may have equally many bytes.
void expect_cell(const std::vector<Region>& regions, std::uint64_t from, std::uint64_t to,
                 char letter, char fill) {
    std::array<std::uint64_t, 64> of_size{};
    std::uint64_t allocated = 0, free = 0;
    for (const Region& r : regions) {
        for (std::uint64_t byte = r.offset; byte < r.offset + r.size; ++byte) {
            if (byte < from || byte >= to) continue;
            ++(r.allocated ? allocated : free);
            if (r.allocated) ++of_size[std::bit_width(r.size) - 1];
        }
    }
    const std::uint64_t ninths = std::uint64_t(fill - '0');
    ASSERT_GE(ninths * (to - from), 9 * allocated);
    ASSERT_LT(ninths * (to - from), 9 * allocated + (to - from));
    if (allocated == 0) {
        ASSERT_EQ(letter, free > 0 ? kFreeCell : kOtherCell);
        return;
    }
    const std::size_t size = std::string(kBlockSizes).find(letter);
    ASSERT_LT(size, of_size.size());
    ASSERT_EQ(of_size[size], *std::ranges::max_element(of_size));
}

TEST(HeapMap, HasWhatAByteByByteCountHas) {
    Dice dice;
    for (int i = 0; i < 30; ++i) {
        const std::uint64_t pool = 1 + dice.below(30000);
        const std::vector<Region> peak = random_regions(dice, pool);
        const std::vector<Region> end = random_regions(dice, pool);
        const HeapMap map = heap_map(peak, end);
        ASSERT_EQ(map.reach_bytes, std::max(last_allocated(peak), last_allocated(end)));
        if (map.reach_bytes == 0) continue;
        const std::uint64_t cells = (map.reach_bytes + map.cell_bytes - 1) / map.cell_bytes;
        ASSERT_LE(cells, kMapCells);
        for (const auto& [regions, shown] : {std::pair(peak, map.peak), std::pair(end, map.end)}) {
            ASSERT_EQ(shown.blocks.size(), cells);
            ASSERT_EQ(shown.fill.size(), cells);
            // Some of them: each is counted over all of the pool.
            for (int tries = 0; tries < 40; ++tries) {
                const std::uint64_t cell = tries == 0 ? cells - 1 : dice.below(cells);
                const std::uint64_t from = cell * map.cell_bytes;
                const std::uint64_t to = std::min(from + map.cell_bytes, map.reach_bytes);
                expect_cell(regions, from, to, shown.blocks[cell], shown.fill[cell]);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(HeapMap, ReachesToTheLastBlockOfEither) {
    const HeapMap map = heap_map({{0, 4, true}, {4, 96, false}}, {{0, 2, false}, {2, 4, true}});
    EXPECT_EQ(map.reach_bytes, 6U);
    EXPECT_EQ(map.cell_bytes, 1U);
    EXPECT_EQ(map.peak.blocks, "cccc..");
    EXPECT_EQ(map.peak.fill, "999900");
    EXPECT_EQ(map.end.blocks, "..cccc");
    EXPECT_EQ(map.end.fill, "009999");
}

TEST(HeapMap, OfAPoolWithoutABlockIsEmpty) {
    const HeapMap map = heap_map({{0, 100, false}}, {});
    EXPECT_EQ(map.reach_bytes, 0U);
    EXPECT_EQ(map.peak.blocks, "");
}

TEST(HeapMap, OfAWalkedPool) {
    CMalloc a({.bytes = 4096});
    void* first = a.ref().allocate({}, 1024);
    ASSERT_NE(a.ref().allocate({}, 1024), nullptr);
    const std::vector<Region> before = regions_of(a);
    a.ref().deallocate({}, first, 1024);
    const HeapMap map = heap_map(before, regions_of(a));
    EXPECT_EQ(map.reach_bytes, 2048U);
    EXPECT_EQ(map.peak.blocks, std::string(2048, 'k'));
    EXPECT_EQ(map.end.blocks, std::string(1024, '.') + std::string(1024, 'k'));
}

}  // namespace
}  // namespace heapwood::allocators
