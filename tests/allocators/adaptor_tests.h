/// @file
/// Tests of the adaptors around every allocator on every machine: the counts of Counting against
/// what the threads noted down themselves, and the failures of Limiting one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "allocators/adaptors/counting.cuh"
#include "allocators/adaptors/limiting.cuh"
#include "tests/allocators/fixture.h"

namespace heapwood::tests {

/// The fixture, with its allocator in an adaptor.
template <class S>
using CountingTest =
    AllocatorTest<Subject<allocators::Counting<typename S::Allocator>, typename S::Machine>>;
template <class S>
using LimitingTest =
    AllocatorTest<Subject<allocators::Limiting<typename S::Allocator>, typename S::Machine>>;

/// The mean waste of the live blocks, by the sizes that the threads saw.
inline void expect_live_waste(const allocators::Statistics& s, const std::vector<Block>& blocks,
                              const allocators::Traits& traits) {
    allocators::InternalFragmentation wanted;
    bool known = s.internal_fragmentation >= 0;
    for (const Block& b : blocks) {
        if (b.data != nullptr && known) wanted.add(b.granted, b.bytes);
    }
    known = known && (!traits.splittable || s.internal_fragmentation == 0);
    if (known) {
        EXPECT_NEAR(s.live_internal_fragmentation, wanted.mean(), 1e-9);
    } else {
        EXPECT_LT(s.live_internal_fragmentation, 0);
    }
}

TYPED_TEST_SUITE_P(CountingTest);
TYPED_TEST_SUITE_P(LimitingTest);

TYPED_TEST_P(CountingTest, AgreesWithTheThreads) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(T::kPool);
    typename T::template Array<Block> slots(T::kThreads * T::kSlots);
    typename T::template Array<Block> log(std::uint64_t{T::kThreads} * T::kRounds);
    typename T::template Array<Tally> tally(T::kThreads);
    T::Machine::run(T::kWarps, ChurnBody<typename T::Ref>{
                                   a->ref(), slots.data(), T::kSlots, T::kRounds, T::kLargest, seed,
                                   T::kMultiprocessors, tally.data(), log.data()});
    const Tally sum = T::expect_sound(tally);
    const allocators::Statistics s = a->statistics();
    EXPECT_EQ(s.requests, sum.requests);
    EXPECT_EQ(s.frees, sum.frees);
    EXPECT_EQ(s.failed, sum.failed);
    EXPECT_EQ(s.live_bytes, sum.live_bytes);
    EXPECT_GE(s.peak_live_bytes, sum.live_bytes);
    EXPECT_LE(s.peak_live_bytes, sum.peak_bytes);

    std::array<std::uint64_t, 64> histogram{};
    double bytes = 0;
    double waste = 0;
    std::vector<double> sizes;
    bool all_known = true;
    for (const Block& b : log) {
        if (b.data == nullptr) continue;
        unsigned bucket = 0;
        while (b.bytes >> (bucket + 1) != 0) ++bucket;
        ++histogram[bucket];
        sizes.push_back(static_cast<double>(b.bytes));
        bytes += sizes.back();
        all_known = all_known && b.granted != 0;
        waste += static_cast<double>(b.granted - b.bytes) / static_cast<double>(b.granted);
    }
    const auto count = static_cast<double>(sizes.size());
    double squares = 0;
    for (const double n : sizes) squares += (n - bytes / count) * (n - bytes / count);
    EXPECT_EQ(s.histogram, histogram);
    EXPECT_NEAR(s.mean_bytes, bytes / count, 1e-9 * s.mean_bytes);
    EXPECT_NEAR(s.deviation_bytes, std::sqrt(squares / count), 1e-9 * s.deviation_bytes);
    if (all_known) {
        EXPECT_NEAR(s.internal_fragmentation, waste / count, 1e-8);
    } else {
        EXPECT_LT(s.internal_fragmentation, 0);
    }
    expect_live_waste(s, {slots.begin(), slots.end()}, T::traits);
    T::release_shuffled(*a, {slots.begin(), slots.end()}, seed);
    EXPECT_EQ(a->statistics().live_bytes, 0U);
    expect_live_waste(a->statistics(), {}, T::traits);
}

TYPED_TEST_P(CountingTest, FreezesWhenSoMuchIsLive) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    for (int i = 0; i < 2; ++i) {
        a->freeze_at(450);
        a->reset();
        std::vector<Block> blocks = T::request(*a, {100, 299, 1});
        EXPECT_FALSE(a->frozen());
        T::release(*a, {blocks[2]});
        const auto last = T::request(*a, {51, 16, 17});
        EXPECT_TRUE(a->frozen());
        EXPECT_NE(last[0].data, nullptr);
        EXPECT_EQ(last[1].data, nullptr);
        EXPECT_EQ(last[2].data, nullptr);
        blocks[2] = last[0];
        T::release_shuffled(*a, blocks, 1);  // without effect
        const allocators::Statistics s = a->statistics();
        EXPECT_EQ(s.requests, 4U);
        EXPECT_EQ(s.failed, 0U);
        EXPECT_EQ(s.frees, 1U);
        EXPECT_EQ(s.live_bytes, 450U);
        EXPECT_EQ(s.peak_live_bytes, 450U);
        expect_live_waste(s, blocks, T::traits);
        T::expect_pool_holds(*a, blocks);
        a->reset();
        EXPECT_FALSE(a->frozen());
        if (!T::traits.walkable) T::release(*a, blocks);  // a pool that reset() does not empty
    }
}

TYPED_TEST_P(CountingTest, CountsPairsAsTwo) {
    using T = TestFixture;
    if constexpr (allocators::AllocatesPairs<typename T::Ref>) {
        auto a = T::make(T::kPool);
        a->freeze_at(1000);
        a->reset();
        // The second pair is too large, the third freezes the pool.
        typename T::template Array<Block> list(8);
        const std::uint64_t sizes[] = {100, 300, 50, T::kPool, 250, 350, 16, 16};
        for (unsigned i = 0; i < 8; ++i) list[i].bytes = sizes[i];
        typename T::template Array<Tally> tally(1);
        T::Machine::run(1, PairBody<typename T::Ref>{a->ref(), list.data(), 4, tally.data()});
        T::expect_sound(tally);
        const std::vector<Block> blocks(list.begin(), list.end());
        for (unsigned i = 0; i < 8; ++i) {
            EXPECT_EQ(blocks[i].data != nullptr, i / 2 == 0 || i / 2 == 2) << i;
        }
        EXPECT_TRUE(a->frozen());
        const allocators::Statistics s = a->statistics();
        EXPECT_EQ(s.requests, 6U);
        EXPECT_EQ(s.failed, 2U);
        EXPECT_EQ(s.live_bytes, 1000U);
        EXPECT_DOUBLE_EQ(s.mean_bytes, 250);
        EXPECT_EQ(s.histogram[6], 1U);
        EXPECT_EQ(s.histogram[7], 1U);
        EXPECT_EQ(s.histogram[8], 2U);
        expect_live_waste(s, blocks, T::traits);
        T::expect_pool_holds(*a, blocks);
    } else {
        GTEST_SKIP() << "asks for one block at a time";
    }
}

TYPED_TEST_P(CountingTest, AFrozenPoolAgreesWithItsCounts) {
    using T = TestFixture;
    if (!T::traits.walkable) GTEST_SKIP() << "the pool cannot be walked";
    auto a = T::make(T::kPool);
    const std::uint64_t limit = T::kLargest * T::kThreads / 16;
    for (int i = 0; i < 4; ++i) {
        a->freeze_at(limit);
        a->reset();
        typename T::template Array<Block> slots(T::kThreads * T::kSlots);
        typename T::template Array<Tally> tally(T::kThreads);
        T::Machine::run(T::kWarps, ChurnBody<typename T::Ref>{
                                       a->ref(), slots.data(), T::kSlots, T::kRounds, T::kLargest,
                                       test_seed(), T::kMultiprocessors, tally.data(), nullptr});
        T::expect_sound(tally);
        ASSERT_TRUE(a->frozen());
        const allocators::Statistics s = a->statistics();
        EXPECT_GT(s.live_bytes, 0U);
        // Each thread may have been about to get a block when the last one did.
        EXPECT_LE(s.live_bytes, limit + T::kLargest * T::kThreads);
        const allocators::PoolUse use = allocators::measure_pool(*a);
        EXPECT_GE(use.allocated_bytes, s.live_bytes);
        if (T::traits.frees_individually && !T::traits.shares_regions) {
            EXPECT_EQ(use.allocated_regions, s.requests - s.failed - s.frees);
        }
    }
}

TYPED_TEST_P(CountingTest, CountsOneThreadExactly) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    a->reset();
    const auto first = T::request(*a, {100, 300, 0, T::kPool * 2});
    T::release(*a, {first[0]});
    const auto second = T::request(*a, {50});
    T::release(*a, {first[1], second[0]});
    const allocators::Statistics s = a->statistics();
    EXPECT_EQ(s.requests, 5U);
    EXPECT_EQ(s.failed, 2U);
    EXPECT_EQ(s.frees, 3U);
    EXPECT_EQ(s.peak_live_bytes, 400U);
    EXPECT_DOUBLE_EQ(s.mean_bytes, 150);
    // (50^2 + 150^2 + 100^2) / 3
    EXPECT_DOUBLE_EQ(s.deviation_bytes, std::sqrt(35000.0 / 3));
    EXPECT_EQ(s.histogram[5], 1U);
    EXPECT_EQ(s.histogram[6], 1U);
    EXPECT_EQ(s.histogram[8], 1U);
    a->reset();
    EXPECT_EQ(a->statistics().requests, 0U);
    EXPECT_EQ(a->statistics().peak_live_bytes, 0U);
}

TYPED_TEST_P(LimitingTest, FailsAfterAsManyAsTold) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    a->fail_after(5);
    const auto blocks = T::request(*a, std::vector<std::uint64_t>(9, 64));
    for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i].data != nullptr, i < 5);
    T::release(*a, blocks);

    a->reset();
    a->fail_after(T::kThreads + 3);
    typename T::template Array<Block> slots(T::kThreads * T::kSlots);
    typename T::template Array<Tally> tally(T::kThreads);
    T::Machine::run(T::kWarps, ChurnBody<typename T::Ref>{
                                   a->ref(), slots.data(), T::kSlots, T::kRounds, T::kLargest,
                                   test_seed(), T::kMultiprocessors, tally.data(), nullptr});
    const Tally sum = T::expect_sound(tally);
    EXPECT_EQ(sum.requests - sum.failed, T::kThreads + 3);
    T::release_shuffled(*a, {slots.begin(), slots.end()}, 1);
}

TYPED_TEST_P(LimitingTest, FailsOneInAsManyAsTold) {
    using T = TestFixture;
    const std::vector<std::uint64_t> sizes(2000, 16);
    const auto failures = [&](std::uint64_t period, std::uint64_t seed) {
        auto a = T::make(T::kPool);
        a->fail_one_in(period, seed);
        const auto blocks = T::request(*a, sizes);
        T::release(*a, blocks);
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (blocks[i].data == nullptr) numbers.push_back(i);
        }
        return numbers;
    };
    EXPECT_TRUE(failures(0, 1).empty());
    EXPECT_EQ(failures(1, 1).size(), sizes.size());
    const auto some = failures(10, 1);
    // Five standard deviations of a binomial distribution.
    EXPECT_NEAR(static_cast<double>(some.size()), 200, 5 * std::sqrt(2000 * 0.1 * 0.9));
    EXPECT_EQ(failures(10, 1), some) << "the same seed fails the same requests";
    EXPECT_NE(failures(10, 2), some);
}

TYPED_TEST_P(LimitingTest, FailsBothHalvesOfAPair) {
    using T = TestFixture;
    if constexpr (allocators::AllocatesPairs<typename T::Ref>) {
        constexpr std::uint64_t kPairs = 500;
        const auto given = [](auto& a) {
            typename T::template Array<Block> list(2 * kPairs);
            for (Block& b : list) b.bytes = 40;
            typename T::template Array<Tally> tally(1);
            T::Machine::run(1,
                            PairBody<typename T::Ref>{a.ref(), list.data(), kPairs, tally.data()});
            T::expect_sound(tally);
            std::vector<Block> blocks(list.begin(), list.end());
            T::expect_pool_holds(a, blocks);
            T::release(a, blocks);
            return blocks;
        };
        auto a = T::make(T::kPool);
        a->fail_after(5);  // the second half of the third pair
        auto blocks = given(*a);
        for (unsigned i = 0; i < 2 * kPairs; ++i) EXPECT_EQ(blocks[i].data != nullptr, i < 4) << i;

        a->fail_one_in(4, test_seed());
        blocks = given(*a);
        for (unsigned i = 0; i < 2 * kPairs; ++i) {
            const bool fails = a->ref().fails(i / 2 * 2) || a->ref().fails(i / 2 * 2 + 1);
            EXPECT_EQ(blocks[i].data == nullptr, fails) << i;
        }
    } else {
        GTEST_SKIP() << "asks for one block at a time";
    }
}

REGISTER_TYPED_TEST_SUITE_P(CountingTest, AgreesWithTheThreads, FreezesWhenSoMuchIsLive,
                            CountsPairsAsTwo, AFrozenPoolAgreesWithItsCounts,
                            CountsOneThreadExactly);
REGISTER_TYPED_TEST_SUITE_P(LimitingTest, FailsAfterAsManyAsTold, FailsOneInAsManyAsTold,
                            FailsBothHalvesOfAPair);

}  // namespace heapwood::tests
