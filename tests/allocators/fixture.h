/// @file
/// What the conformance suite's tests have in common: how large they are on a machine, how they
/// run bodies, and what must hold whenever no kernel runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/fragmentation.h"
#include "tests/allocators/bodies.h"
#include "tests/platform/machines.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// How large the tests are on a machine. `pool` also is the largest pool anybody asks for: CUDA's
/// malloc cannot grow within a process.
template <class Machine>
struct Scale {
    static constexpr allocators::Place place = allocators::Place::host;
    static constexpr unsigned warps = Machine::Warp::width == 1 ? 8 : 1;
    static constexpr unsigned rounds = 2000 / Machine::Warp::width;
    static constexpr std::uint64_t pool = 4 << 20;
};
#if defined(__CUDACC__)
template <>
struct Scale<DeviceMachine> {
    static constexpr allocators::Place place = allocators::Place::device;
    static constexpr unsigned warps = 128;
    static constexpr unsigned rounds = 48;
    static constexpr std::uint64_t pool = 256 << 20;
};
#endif

/// What a test is instantiated for: an allocator on a machine.
template <class AllocatorType, class MachineType>
struct Subject {
    using Allocator = AllocatorType;
    using Machine = MachineType;
};

template <class S>
class AllocatorTest : public ::testing::Test {
protected:
    using A = typename S::Allocator;
    using Ref = typename A::Ref;
    using Machine = typename S::Machine;
    template <class T>
    using Array = typename Machine::template Array<T>;

    static constexpr allocators::Traits traits = A::traits();
    static constexpr unsigned kWarps = Scale<Machine>::warps;
    static constexpr unsigned kThreads = kWarps * Machine::Warp::width;
    static constexpr unsigned kRounds = Scale<Machine>::rounds;
    static constexpr unsigned kSlots = 8;
    static constexpr unsigned kMultiprocessors = 7;
    static constexpr std::uint64_t kPool = Scale<Machine>::pool;
    /// Of random blocks; kThreads * kSlots of this size take an eighth of the pool.
    static constexpr std::uint64_t kLargest = kPool / (8 * kThreads * kSlots);

    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
        // The first use fixes the size of CUDA's heap, so it must be of the full size.
        auto a = make(kPool);
        release(*a, request(*a, {16}));
    }

    /// `largest` is PoolConfig::largest_request: the circular allocators split their pool by it.
    static std::unique_ptr<A> make(std::uint64_t bytes, std::uint64_t largest = 0) {
        return std::make_unique<A>(allocators::PoolConfig{.place = Scale<Machine>::place,
                                                          .bytes = bytes,
                                                          .largest_request = largest,
                                                          .multiprocessors = kMultiprocessors,
                                                          .callers = kWarps});
    }

    /// One thread's requests, one after the other.
    static std::vector<Block> request(A& a, const std::vector<std::uint64_t>& sizes) {
        Array<Block> blocks(sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) blocks[i].bytes = sizes[i];
        Array<Tally> tally(1);
        Machine::run(1, RequestBody<Ref>{a.ref(), blocks.data(), sizes.size(), tally.data()});
        expect_sound(tally);
        return {blocks.begin(), blocks.end()};
    }
    /// Frees what `request` returned, in that order; refused requests are skipped.
    static void release(A& a, const std::vector<Block>& blocks, unsigned threads = 1) {
        Array<Block> list(blocks.size());
        std::uint64_t count = 0;
        for (const Block& b : blocks) {
            if (b.data != nullptr) list[count++] = b;
        }
        Array<Tally> tally(kThreads);
        Machine::run(kWarps, ReleaseBody<Ref>{a.ref(), list.data(), count, threads,
                                              kMultiprocessors, tally.data()});
        expect_sound(tally);
    }
    /// As release, by all threads at once and in random order: mostly another warp than allocated.
    static void release_shuffled(A& a, std::vector<Block> blocks, std::uint64_t seed) {
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed));
        release(a, blocks, kThreads);
    }

    /// No thread saw a block that it must not see. @return the sum of the tallies.
    static Tally expect_sound(const Array<Tally>& tallies) {
        Tally sum{};
        for (std::size_t i = 0; i < tallies.size(); ++i) sum += tallies[i];
        EXPECT_EQ(sum.misaligned, 0U);
        EXPECT_EQ(sum.too_small, 0U);
        EXPECT_EQ(sum.corrupt, 0U) << "blocks changed in the hands of their owners";
        EXPECT_EQ(sum.half_pairs, 0U) << "a pair is given whole, or not at all";
        return sum;
    }

    /// The live blocks overlap nowhere, and the walk shows exactly them, or the regions that they
    /// share.
    static void expect_pool_holds(const A& a, std::vector<Block> live) {
        std::erase_if(live, [](const Block& b) { return b.data == nullptr; });
        const auto address = [](const Block& b) {
            return reinterpret_cast<std::uintptr_t>(b.data);
        };
        std::sort(live.begin(), live.end(),
                  [&](const Block& l, const Block& r) { return address(l) < address(r); });
        for (std::size_t i = 1; i < live.size(); ++i) {
            const std::uint64_t size = std::max(live[i - 1].bytes, live[i - 1].granted);
            ASSERT_LE(address(live[i - 1]) + size, address(live[i])) << "blocks overlap";
        }
        std::vector<allocators::Region> regions;
        a.for_each_region([&](const allocators::Region& r) { regions.push_back(r); });
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
        EXPECT_EQ(end, a.pool_bytes());
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
    /// No block reaches from one region into the next, and no region is without a block. Where the
    /// pool starts is not known, only that the first block begins somewhere in the first region.
    static void expect_shared(const std::vector<allocators::Region>& regions,
                              const std::vector<Block>& live) {
        ASSERT_EQ(regions.empty(), live.empty());
        if (live.empty()) return;
        const auto first = reinterpret_cast<std::uintptr_t>(live[0].data);
        for (std::uint64_t at = 0; at < regions[0].size; at += allocators::kAlignment) {
            std::size_t r = 0;
            std::size_t in_region = 0;
            const bool fits = std::ranges::all_of(live, [&](const Block& b) {
                const std::uint64_t begin =
                    reinterpret_cast<std::uintptr_t>(b.data) - first + regions[0].offset + at;
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
    static void expect_empty(const A& a) {
        if (traits.full) expect_pool_holds(a, {});
    }
};

}  // namespace heapwood::tests
