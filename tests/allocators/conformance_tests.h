/// @file
/// The conformance suite: what allocator.cuh promises, tested alike for every allocator and on
/// every machine. What an allocator does not promise (by its traits) is not asked of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/allocators/fixture.h"

namespace heapwood::tests {

template <class S>
using ConformanceTest = AllocatorTest<S>;

TYPED_TEST_SUITE_P(ConformanceTest);

TYPED_TEST_P(ConformanceTest, RefusesZeroAndMoreThanThePool) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    const std::uint64_t most = std::numeric_limits<std::size_t>::max();
    const std::vector<std::uint64_t> sizes{
        0,         a->pool_bytes() + 1, std::uint64_t{1} << 40,      most, most - 14,
        most - 15, most - 16,           (std::uint64_t{1} << 63) + 1};
    for (const Block& b : T::request(*a, sizes)) {
        EXPECT_EQ(b.data, nullptr) << b.bytes << " bytes";
    }
    T::expect_pool_holds(*a, {});
    const auto blocks = T::request(*a, {100});
    EXPECT_NE(blocks[0].data, nullptr) << "the pool must work after refusals";
    T::release(*a, blocks);
}

TYPED_TEST_P(ConformanceTest, IgnoresNullInDeallocate) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    typename T::template Array<Block> null(1);
    typename T::template Array<Tally> tally(1);
    T::Machine::run(1, ReleaseBody<typename T::Ref>{a->ref(), null.data(), 1, 1, 1, tally.data()});
    T::expect_pool_holds(*a, {});
}

TYPED_TEST_P(ConformanceTest, GivesEverySize) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t n = 1; n <= 300; ++n) sizes.push_back(n);
    for (std::uint64_t n = 512; n <= T::kPool / 16; n *= 2) {
        sizes.insert(sizes.end(), {n - 1, n, n + 1});
    }
    const auto blocks = T::request(*a, sizes);
    for (const Block& b : blocks) ASSERT_NE(b.data, nullptr) << b.bytes << " bytes";
    T::expect_pool_holds(*a, blocks);
    T::release(*a, blocks);
    T::expect_empty(*a);
}

TYPED_TEST_P(ConformanceTest, GivesTheLargestBlockAgainWhenAllIsFree) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    // The largest request of a fresh pool, to a sixteenth of it.
    std::uint64_t largest = 0;
    for (std::uint64_t parts = 16; parts > 0 && largest == 0; --parts) {
        const auto whole = T::request(*a, {a->pool_bytes() / 16 * parts});
        if (whole[0].data == nullptr) continue;
        largest = whole[0].bytes;
        T::release(*a, whole);
    }
    ASSERT_GT(largest, 0U);
    if (!T::traits.full || !T::traits.walkable) return;
    const std::vector<std::uint64_t> small(500, T::kPool / 1000);
    for (const int order : {0, 1, 2}) {
        auto blocks = T::request(*a, small);
        if (order == 1) std::reverse(blocks.begin(), blocks.end());
        if (order == 2) {
            T::release_shuffled(*a, blocks, test_seed());
        } else {
            T::release(*a, blocks);
        }
        T::expect_empty(*a);
        const auto whole = T::request(*a, {largest});
        ASSERT_NE(whole[0].data, nullptr) << "order of freeing: " << order;
        T::release(*a, whole);
    }
    // 0, if that was the whole pool.
    const double rest = 1 - static_cast<double>(largest) / static_cast<double>(a->pool_bytes());
    EXPECT_LE(allocators::external_fragmentation(allocators::measure_pool(*a)), rest);
}

TYPED_TEST_P(ConformanceTest, RefusesInBoundedTimeWhenExhausted) {
    using T = TestFixture;
    auto a = T::make(T::kPool, T::kPool / 8);
    const std::uint64_t seed = test_seed();
    const std::uint64_t bytes = a->pool_bytes() / 1024;
    const std::uint64_t room = 1024 + 8 * 1024;
    for (int round = 0; round < 3; ++round) {
        typename T::template Array<Block> blocks(room);
        typename T::template Array<std::uint64_t> count(1);
        // The rest of a pool that has no such block left is filled with crumbs.
        std::uint64_t large_count = 0;
        for (const std::uint64_t size : {bytes, bytes / 8}) {
            typename T::template Array<Tally> tally(T::kThreads);
            T::Machine::run(T::kWarps, FillBody<typename T::Ref>{
                                           a->ref(), size, blocks.data(), room, count.data(),
                                           T::kMultiprocessors, tally.data()});
            const Tally sum = T::expect_sound(tally);
            EXPECT_EQ(sum.failed, T::kThreads) << "every thread goes on until it is refused";
            ASSERT_LE(count[0], room) << "more blocks than the pool has room for";
            if (size == bytes) large_count = count[0];
        }
        EXPECT_LE(large_count, 1024U);
        // Later rounds find the pool in pieces, of which one may be given to half its size.
        if (T::traits.walkable) {
            EXPECT_GE(large_count, round == 0 ? 900U : 512U) << "refused with memory left";
        }
        std::vector<Block> live(blocks.begin(),
                                blocks.begin() + static_cast<std::ptrdiff_t>(count[0]));
        T::expect_pool_holds(*a, live);
        T::release_shuffled(*a, live, seed + static_cast<unsigned>(round));
        T::expect_empty(*a);
        if (!T::traits.frees_individually) a->reset();
    }
}

TYPED_TEST_P(ConformanceTest, KeepsBlocksApartUnderRandomChurn) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t largest_request : {std::uint64_t{0}, T::kPool / 16}) {
        auto a = T::make(T::kPool, largest_request);
        typename T::template Array<Block> slots(T::kThreads * T::kSlots);
        for (unsigned run = 0; run < 3; ++run) {
            typename T::template Array<Tally> tally(T::kThreads);
            T::Machine::run(
                T::kWarps, ChurnBody<typename T::Ref>{a->ref(), slots.data(), T::kSlots, T::kRounds,
                                                      T::kLargest, seed + run, T::kMultiprocessors,
                                                      tally.data(), nullptr});
            const Tally sum = T::expect_sound(tally);
            if (T::traits.full) {
                EXPECT_LE(sum.failed, sum.requests / 100) << "in a pool that is almost empty";
            }
            T::expect_pool_holds(*a, {slots.begin(), slots.end()});
        }
        T::release_shuffled(*a, {slots.begin(), slots.end()}, seed);
        T::expect_empty(*a);
    }
}

TYPED_TEST_P(ConformanceTest, SurvivesChurnInAPoolThatIsTooSmall) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(std::max<std::uint64_t>(T::traits.smallest_pool, T::kPool / 64));
    typename T::template Array<Block> slots(T::kThreads * T::kSlots);
    typename T::template Array<Tally> tally(T::kThreads);
    T::Machine::run(T::kWarps, ChurnBody<typename T::Ref>{
                                   a->ref(), slots.data(), T::kSlots, T::kRounds, T::kLargest, seed,
                                   T::kMultiprocessors, tally.data(), nullptr});
    T::expect_sound(tally);
    T::expect_pool_holds(*a, {slots.begin(), slots.end()});
    T::release_shuffled(*a, {slots.begin(), slots.end()}, seed);
    T::expect_empty(*a);
}

TYPED_TEST_P(ConformanceTest, LetsOthersFree) {
    using T = TestFixture;
    auto a = T::make(T::kPool, T::kPool / 16);
    constexpr unsigned kBoxes = T::kThreads / 2 + 1;
    typename T::template Array<std::uint64_t> boxes(kBoxes);
    typename T::template Array<Tally> tally(T::kThreads);
    const HandOverBody<typename T::Ref> body{
        a->ref(),    boxes.data(),        kBoxes,      T::kRounds, T::kLargest,
        test_seed(), T::kMultiprocessors, tally.data()};
    T::Machine::run(T::kWarps, body);
    T::Machine::run(1, EmptyBoxesBody<typename T::Ref>{body});
    const Tally sum = T::expect_sound(tally);
    EXPECT_EQ(sum.frees, sum.requests - sum.failed);
    EXPECT_GT(sum.frees, 0U);
    T::expect_empty(*a);
}

TYPED_TEST_P(ConformanceTest, StartsAnewAfterReset) {
    using T = TestFixture;
    if (!T::traits.walkable) GTEST_SKIP() << T::traits.name << " cannot be reset";
    auto a = T::make(T::kPool, T::kPool / 16);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> fresh;
    a->for_each_region([&](const auto& r) { fresh.emplace_back(r.offset, r.size); });
    T::request(*a, std::vector<std::uint64_t>(300, 1000));
    a->reset();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> again;
    a->for_each_region([&](const auto& r) {
        EXPECT_FALSE(r.allocated);
        again.emplace_back(r.offset, r.size);
    });
    EXPECT_EQ(again, fresh);
    const auto blocks = T::request(*a, std::vector<std::uint64_t>(300, 1000));
    for (const Block& b : blocks) ASSERT_NE(b.data, nullptr);
    T::expect_pool_holds(*a, blocks);
}

TYPED_TEST_P(ConformanceTest, WorksInTheSmallestPool) {
    using T = TestFixture;
    EXPECT_THROW(T::make(T::traits.smallest_pool - 1), std::invalid_argument);
    EXPECT_THROW(T::make(0), std::invalid_argument);
    auto a = T::make(T::traits.smallest_pool);
    const auto blocks = T::request(*a, {1, 16, 100, 1000});
    for (const Block& b : blocks) EXPECT_NE(b.data, nullptr) << b.bytes << " bytes";
    T::expect_pool_holds(*a, blocks);
    T::release(*a, blocks);
    T::expect_empty(*a);
}

REGISTER_TYPED_TEST_SUITE_P(ConformanceTest, RefusesZeroAndMoreThanThePool, IgnoresNullInDeallocate,
                            GivesEverySize, GivesTheLargestBlockAgainWhenAllIsFree,
                            RefusesInBoundedTimeWhenExhausted, KeepsBlocksApartUnderRandomChurn,
                            SurvivesChurnInAPoolThatIsTooSmall, LetsOthersFree,
                            StartsAnewAfterReset, WorksInTheSmallestPool);

}  // namespace heapwood::tests
