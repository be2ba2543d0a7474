/// @file
/// What must hold of a heap whose pool grows while threads of the host use it: called for each
/// allocator.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "allocators/heap.cuh"
#include "allocators/heap/growing.cuh"
#include "tests/allocators/heap/grown.cuh"
#include "tests/allocators/heap/growth_body.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/allocators/subjects.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// A call that waits for a part gets it, however busy the machine is.
inline constexpr std::chrono::minutes kLongPatience{2};

/// A pool that is made with an eighth of its bytes, where that is enough for A, and grows by itself
/// to all of them, for the conformance suite; see Grown (grown.cuh).
template <allocators::CanGrow A>
class SelfGrown : public Unwalked<A> {
    using Base = Unwalked<A>;

public:
    explicit SelfGrown(const allocators::PoolConfig& config) : Base(first_part(config)) {
        this->grow_automatically(
            {.step = config.bytes / 8, .most = config.bytes, .patience = kLongPatience});
    }

    /// That it may have.
    std::uint64_t pool_bytes() const { return most_; }

private:
    allocators::PoolConfig first_part(allocators::PoolConfig config) {
        most_ = config.bytes;
        if (config.bytes / 8 >= A::traits().smallest_pool * 2) config.bytes /= 8;
        return config;
    }

    std::uint64_t most_;
};

template <class A>
struct WhatGrowsOf {
    using Type = void;
};
template <allocators::CanGrow A>
struct WhatGrowsOf<A> {
    using Type = allocators::Growing<A>;
};
/// Growing<A>, if A can grow.
template <class A>
using WhatGrows = typename WhatGrowsOf<A>::Type;

/// Threads take more than the first part has, and no request is refused that the limits allow.
/// Every block stays as it was; frees find its part; the pool does not exceed its limit.
/// @tparam Pool of an A, that grows
template <class A, class Machine, class Pool = WhatGrows<A>>
void check_growth_under_threads() {
    if constexpr (allocators::CanGrow<A>) {
        constexpr std::uint64_t kPart = std::uint64_t{1} << 20;
        constexpr std::uint64_t kMost = 12 * kPart;
        constexpr unsigned kWarps = Machine::Warp::width == 1 ? 4 : 2;
        constexpr unsigned kThreads = kWarps * Machine::Warp::width;
        constexpr std::uint64_t kLargest = 3000;
        constexpr unsigned kEach =
            (Machine::Warp::width == 1 ? 4 : 3) * kPart / kLargest / kThreads;
        allocators::Heap<Pool> owner({.bytes = kPart, .place = allocators::Place::host});
        Pool& pool = owner.allocator();
        pool.grow_automatically({.step = kPart, .most = kMost, .patience = kLongPatience});
        const std::uint64_t seed = test_seed();
        std::vector<Block> slots(std::size_t{kThreads} * kEach);
        for (unsigned run = 0; run < 2; ++run) {
            std::vector<GrowthTally> tallies(kThreads);
            const auto heap = owner.ref();
            using Ref = allocators::HeapRef<Pool>;
            Machine::run(kWarps, TakeAllBody<Ref>{heap, slots.data(), kEach, kLargest, seed + run,
                                                  tallies.data()});
            EXPECT_GE(pool.part_count(), 3U);
            EXPECT_EQ(pool.growth_refusal(), "");
            Machine::run(
                kWarps, CheckAndFreeBody<Ref>{heap, slots.data(), kEach, kThreads, tallies.data()});
            GrowthTally sum{};
            for (const GrowthTally& tally : tallies) sum += tally;
            EXPECT_EQ(sum.refused, 0U);
            EXPECT_EQ(sum.corrupt, 0U);
            EXPECT_EQ(sum.blocks, slots.size());
            EXPECT_GT(sum.bytes, kPart * 3 / 2);
            EXPECT_LE(pool.pool_bytes(), kMost);
            if (A::traits().full && A::traits().walkable) {
                EXPECT_EQ(owner.use().allocated_bytes, 0U);
            }
            owner.reset();
        }
    }
}

/// A new limit holds for handles that there are, too.
template <class Pool, class Heap>
void check_a_later_limit(Pool& pool, const Heap& heap, std::set<void*>& blocks, std::uint64_t most,
                         std::uint64_t step) {
    pool.grow_automatically({.step = step, .most = most, .patience = kLongPatience});
    EXPECT_EQ(pool.growth_refusal(), "");
    const std::size_t count = blocks.size();
    while (void* const block = heap.malloc(3000)) EXPECT_TRUE(blocks.insert(block).second);
    EXPECT_GT(blocks.size(), count + step / 3000);
    EXPECT_LE(pool.pool_bytes(), most);
}

/// What the limits allow and refuse, one caller at a time.
template <class A, class Pool = WhatGrows<A>>
void check_limits_of_growth() {
    if constexpr (allocators::CanGrow<A>) {
        constexpr std::uint64_t kPart = std::uint64_t{256} << 10;
        constexpr std::uint64_t kMost = 32 * kPart;
        // The handles that there are know a part of its own, but not more of their only one.
        constexpr bool kHasParts = std::is_same_v<Pool, WhatGrows<A>>;
        allocators::Heap<Pool> owner({.bytes = kPart, .place = allocators::Place::host});
        Pool& pool = owner.allocator();
        const auto before = owner.ref();
        pool.grow_automatically({.step = kPart, .most = kMost, .patience = kLongPatience});
        if (kHasParts) {
            // A handle of before does not make it grow.
            EXPECT_EQ(before.malloc(2 * kPart), nullptr);
            EXPECT_EQ(pool.part_count(), 1U);
        }
        const auto heap = owner.ref();
        // A request that is larger than a step gets a part in which it fits.
        std::set<void*> blocks;
        for (const std::uint64_t bytes : {2 * kPart + 5, 3 * kPart, 5 * kPart}) {
            const std::uint32_t parts = pool.part_count();
            void* const block = heap.malloc(bytes);
            ASSERT_NE(block, nullptr) << bytes << ": " << pool.growth_refusal();
            EXPECT_LE(pool.part_count(), parts + 1);
            EXPECT_GE(heap.usable_size(block), bytes);
            EXPECT_TRUE(blocks.insert(block).second);
        }
        // One that the limit cannot serve is refused, and others are served after it.
        const std::uint32_t parts = pool.part_count();
        for (const std::uint64_t bytes : {kMost + 1, std::uint64_t{1} << 46}) {
            EXPECT_EQ(heap.malloc(bytes), nullptr);
            const std::string said = "may have " + std::to_string(kMost) + " bytes";
            EXPECT_NE(pool.growth_refusal().find(said), std::string::npos);
        }
        EXPECT_EQ(heap.malloc(~std::size_t{0}), nullptr);
        EXPECT_EQ(pool.part_count(), parts);
        while (void* const block = heap.malloc(3000)) EXPECT_TRUE(blocks.insert(block).second);
        EXPECT_LE(pool.pool_bytes(), kMost);
        EXPECT_GT(pool.pool_bytes(), kMost - 2 * kPart);
        EXPECT_NE(pool.growth_refusal(), "");
        if (kHasParts) {
            check_a_later_limit(pool, heap, blocks, kMost + 4 * kPart, kPart);
        }
        for (void* const block : blocks) heap.free(block);
        if (A::traits().full && A::traits().walkable) {
            EXPECT_EQ(owner.use().allocated_bytes, 0U);
        }
    }
}

}  // namespace heapwood::tests
