/// @file
/// Tests of the adaptors around every allocator on every machine: the counts of Counting against
/// what the threads noted down themselves, and the failures of Limiting one by one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocators/measure/fragmentation.h"
#include "tests/allocators/internal_fragmentation.h"
#include "tests/allocators/pool_test.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

class CountingTest : public PoolTest {};
INSTANTIATE_TEST_SUITE_P(, CountingTest, ::testing::ValuesIn(subjects_of(Role::counting)),
                         subject_name);
// A short list of allocators may have none for these tests.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CountingTest);

class LimitingTest : public PoolTest {};
INSTANTIATE_TEST_SUITE_P(, LimitingTest, ::testing::ValuesIn(subjects_of(Role::limiting)),
                         subject_name);
// A short list of allocators may have none for these tests.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LimitingTest);

/// The mean waste of the live blocks, by the sizes that the threads saw.
void expect_live_waste(const allocators::Statistics& s, const std::vector<Block>& blocks,
                       const allocators::Traits& traits) {
    tests::InternalFragmentation wanted;
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

TEST_P(CountingTest, AgreesWithTheThreads) {
    const std::uint64_t seed = test_seed();
    auto a = make(pool_bytes_);
    auto slots = array<Block>(threads_ * kSlots);
    auto log = array<Block>(std::uint64_t{threads_} * rounds_);
    const Tally sum = churn(*a, slots, seed, log.data());
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
    expect_live_waste(s, slots.copy(), traits_);
    release_shuffled(*a, slots.copy(), seed);
    EXPECT_EQ(a->statistics().live_bytes, 0U);
    expect_live_waste(a->statistics(), {}, traits_);
}

TEST_P(CountingTest, FreezesWhenSoMuchIsLive) {
    auto a = make(pool_bytes_);
    for (int i = 0; i < 2; ++i) {
        a->freeze_at(450);
        a->reset();
        std::vector<Block> blocks = request(*a, {100, 299, 1});
        EXPECT_FALSE(a->frozen());
        release(*a, {blocks[2]});
        const auto last = request(*a, {51, 16, 17});
        EXPECT_TRUE(a->frozen());
        EXPECT_NE(last[0].data, nullptr);
        EXPECT_EQ(last[1].data, nullptr);
        EXPECT_EQ(last[2].data, nullptr);
        blocks[2] = last[0];
        release_shuffled(*a, blocks, 1);  // without effect
        const allocators::Statistics s = a->statistics();
        EXPECT_EQ(s.requests, 4U);
        EXPECT_EQ(s.failed, 0U);
        EXPECT_EQ(s.frees, 1U);
        EXPECT_EQ(s.live_bytes, 450U);
        EXPECT_EQ(s.peak_live_bytes, 450U);
        expect_live_waste(s, blocks, traits_);
        expect_pool_holds(*a, blocks);
        a->reset();
        EXPECT_FALSE(a->frozen());
        if (!traits_.walkable) release(*a, blocks);  // a pool that reset() does not empty
    }
}

TEST_P(CountingTest, CountsPairsAsTwo) {
    if (!GetParam()->allocates_pairs) GTEST_SKIP() << "asks for one block at a time";
    auto a = make(pool_bytes_);
    a->freeze_at(1000);
    a->reset();
    // The second pair is too large, the third freezes the pool.
    const auto blocks = request_pairs(*a, {100, 300, 50, pool_bytes_, 250, 350, 16, 16});
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
    expect_live_waste(s, blocks, traits_);
    expect_pool_holds(*a, blocks);
}

TEST_P(CountingTest, AFrozenPoolAgreesWithItsCounts) {
    if (!traits_.walkable) GTEST_SKIP() << "the pool cannot be walked";
    auto a = make(pool_bytes_);
    const std::uint64_t limit = largest_ * threads_ / 16;
    for (int i = 0; i < 4; ++i) {
        a->freeze_at(limit);
        a->reset();
        auto slots = array<Block>(threads_ * kSlots);
        auto tally = tallies();
        a->run(warps_, ChurnBody<AnyRef>{a->ref(), slots.data(), kSlots, rounds_, largest_,
                                         test_seed(), kMultiprocessors, tally.data(), nullptr});
        expect_sound(tally);
        ASSERT_TRUE(a->frozen());
        const allocators::Statistics s = a->statistics();
        EXPECT_GT(s.live_bytes, 0U);
        // Each thread may have been about to get a block when the last one did.
        EXPECT_LE(s.live_bytes, limit + largest_ * threads_);
        const allocators::PoolUse use = a->use();
        EXPECT_GE(use.allocated_bytes, s.live_bytes);
        if (traits_.frees_individually && !traits_.shares_regions) {
            EXPECT_EQ(use.allocated_regions, s.requests - s.failed - s.frees);
        }
    }
}

TEST_P(CountingTest, CountsOneThreadExactly) {
    auto a = make(pool_bytes_);
    a->reset();
    const auto first = request(*a, {100, 300, 0, pool_bytes_ * 2});
    release(*a, {first[0]});
    const auto second = request(*a, {50});
    release(*a, {first[1], second[0]});
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

TEST_P(LimitingTest, FailsAfterAsManyAsTold) {
    auto a = make(pool_bytes_);
    a->fail_after(5);
    const auto blocks = request(*a, std::vector<std::uint64_t>(9, 64));
    for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i].data != nullptr, i < 5);
    release(*a, blocks);

    a->reset();
    a->fail_after(threads_ + 3);
    auto slots = array<Block>(threads_ * kSlots);
    auto tally = tallies();
    a->run(warps_, ChurnBody<AnyRef>{a->ref(), slots.data(), kSlots, rounds_, largest_, test_seed(),
                                     kMultiprocessors, tally.data(), nullptr});
    const Tally sum = expect_sound(tally);
    EXPECT_EQ(sum.requests - sum.failed, threads_ + 3);
    release_shuffled(*a, slots.copy(), 1);
}

TEST_P(LimitingTest, FailsTheOneThatIsTold) {
    auto a = make(pool_bytes_);
    a->fail_only(5);
    const auto blocks = request(*a, std::vector<std::uint64_t>(9, 64));
    for (std::size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i].data != nullptr, i != 5);
    release(*a, blocks);
}

TEST_P(LimitingTest, FailsOneInAsManyAsTold) {
    const std::vector<std::uint64_t> sizes(2000, 16);
    const auto failures = [&](std::uint64_t period, std::uint64_t seed) {
        auto a = make(pool_bytes_);
        a->fail_one_in(period, seed);
        const auto blocks = request(*a, sizes);
        release(*a, blocks);
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

TEST_P(LimitingTest, FailsBothHalvesOfAPair) {
    if (!GetParam()->allocates_pairs) GTEST_SKIP() << "asks for one block at a time";
    constexpr std::uint64_t kPairs = 500;
    const auto given = [](AnyPool& a) {
        auto blocks = request_pairs(a, std::vector<std::uint64_t>(2 * kPairs, 40));
        expect_pool_holds(a, blocks);
        release(a, blocks);
        return blocks;
    };
    auto a = make(pool_bytes_);
    a->fail_after(5);  // the second half of the third pair
    auto blocks = given(*a);
    for (unsigned i = 0; i < 2 * kPairs; ++i) EXPECT_EQ(blocks[i].data != nullptr, i < 4) << i;

    a->fail_one_in(4, test_seed());
    blocks = given(*a);
    for (unsigned i = 0; i < 2 * kPairs; ++i) {
        const bool fails = a->fails(i / 2 * 2) || a->fails(i / 2 * 2 + 1);
        EXPECT_EQ(blocks[i].data == nullptr, fails) << i;
    }
}

}  // namespace

}  // namespace heapwood::tests
