#include "tests/allocators/pool_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace heapwood::tests {

namespace {

std::uintptr_t address(const Block& b) {
    return reinterpret_cast<std::uintptr_t>(b.data);
}

/// No block reaches from one region into the next, and no region is without a block. Where the
/// pool starts is not known, only that the first block begins somewhere in the first region.
void expect_shared(const std::vector<allocators::Region>& regions, const std::vector<Block>& live) {
    ASSERT_EQ(regions.empty(), live.empty());
    if (live.empty()) return;
    for (std::uint64_t at = 0; at < regions[0].size; at += allocators::kAlignment) {
        std::size_t r = 0;
        std::size_t in_region = 0;
        const bool fits = std::ranges::all_of(live, [&](const Block& b) {
            const std::uint64_t begin = address(b) - address(live[0]) + regions[0].offset + at;
            if (begin >= regions[r].offset + regions[r].size) {
                if (in_region == 0 || ++r == regions.size()) return false;
                in_region = 0;
            }
            ++in_region;
            return begin >= regions[r].offset &&
                   begin + b.bytes <= regions[r].offset + regions[r].size;
        });
        if (fits && r + 1 == regions.size()) return;
    }
    FAIL() << "the regions are not those of the blocks";
}

/// Runs a body of one thread that asks for blocks of these sizes, in so many calls.
template <class Body>
std::vector<Block> run_requests(AnyPool& pool, const std::vector<std::uint64_t>& sizes,
                                std::uint64_t count) {
    SharedArray<Block> blocks(pool.machine(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) blocks[i].bytes = sizes[i];
    SharedArray<Tally> tally(pool.machine(), 1);
    pool.run(1, Body{pool.ref(), blocks.data(), count, tally.data()});
    expect_sound(tally);
    return blocks.copy();
}

}  // namespace

std::vector<Block> request(AnyPool& pool, const std::vector<std::uint64_t>& sizes) {
    return run_requests<RequestBody<AnyRef>>(pool, sizes, sizes.size());
}

std::vector<Block> request_pairs(AnyPool& pool, const std::vector<std::uint64_t>& sizes) {
    return run_requests<PairBody<AnyRef>>(pool, sizes, sizes.size() / 2);
}

void release(AnyPool& pool, const std::vector<Block>& blocks, unsigned threads) {
    const AnyMachine& machine = pool.machine();
    SharedArray<Block> list(machine, blocks.size());
    std::uint64_t count = 0;
    for (const Block& b : blocks) {
        if (b.data != nullptr) list[count++] = b;
    }
    SharedArray<Tally> tally(machine, machine.threads());
    pool.run(machine.warps, ReleaseBody<AnyRef>{pool.ref(), list.data(), count, threads,
                                                CommonScale::multiprocessors, tally.data()});
    expect_sound(tally);
}

void release_shuffled(AnyPool& pool, std::vector<Block> blocks, std::uint64_t seed) {
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed));
    release(pool, blocks, pool.machine().threads());
}

Tally expect_sound(const Tally* tallies, std::size_t count) {
    Tally sum{};
    for (std::size_t i = 0; i < count; ++i) sum += tallies[i];
    EXPECT_EQ(sum.misaligned, 0U);
    EXPECT_EQ(sum.too_small, 0U);
    EXPECT_EQ(sum.corrupt, 0U) << "blocks changed in the hands of their owners";
    EXPECT_EQ(sum.half_pairs, 0U) << "a pair is given whole, or not at all";
    return sum;
}

void expect_pool_holds(const AnyPool& pool, std::vector<Block> live) {
    const allocators::Traits& traits = pool.traits();
    std::erase_if(live, [](const Block& b) { return b.data == nullptr; });
    std::sort(live.begin(), live.end(),
              [](const Block& l, const Block& r) { return address(l) < address(r); });
    for (std::size_t i = 1; i < live.size(); ++i) {
        const std::uint64_t size = std::max(live[i - 1].bytes, live[i - 1].granted);
        ASSERT_LE(address(live[i - 1]) + size, address(live[i])) << "blocks overlap";
    }
    std::vector<allocators::Region> regions = pool.regions();
    if (!traits.walkable) {
        EXPECT_TRUE(regions.empty());
        return;
    }
    std::uint64_t end = 0;
    for (const auto& r : regions) {
        ASSERT_EQ(r.offset, end) << "gap or overlap between regions";
        ASSERT_GT(r.size, 0U);
        end += r.size;
    }
    EXPECT_EQ(end, pool.pool_bytes());
    if (!traits.frees_individually) return;
    std::erase_if(regions, [](const allocators::Region& r) { return !r.allocated; });
    if (traits.shares_regions) {
        expect_shared(regions, live);
        return;
    }
    ASSERT_EQ(regions.size(), live.size());
    for (std::size_t i = 0; i < live.size(); ++i) {
        // Regions are known by their offset from the pool's start, which the first one tells.
        ASSERT_EQ(address(live[i]) - address(live[0]), regions[i].offset - regions[0].offset);
        ASSERT_EQ(regions[i].size, live[i].granted);
    }
}

void expect_empty(const AnyPool& pool) {
    if (pool.traits().full) expect_pool_holds(pool, {});
}

}  // namespace heapwood::tests
