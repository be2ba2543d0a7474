/// @file
/// The conformance suite: what allocator.cuh promises, tested alike for every allocator and on
/// every machine. What an allocator does not promise (by its traits) is not asked of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "allocators/measure/fragmentation.h"
#include "tests/allocators/pool_test.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

class ConformanceTest : public PoolTest {};
INSTANTIATE_TEST_SUITE_P(, ConformanceTest, ::testing::ValuesIn(subjects_of(Role::conformance)),
                         subject_name);
// An executable may have the adaptors alone.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConformanceTest);

TEST_P(ConformanceTest, RefusesZeroAndMoreThanThePool) {
    auto a = make(pool_bytes_);
    const std::uint64_t most = std::numeric_limits<std::size_t>::max();
    const std::vector<std::uint64_t> sizes{
        0,         a->pool_bytes() + 1, std::uint64_t{1} << 40,      most, most - 14,
        most - 15, most - 16,           (std::uint64_t{1} << 63) + 1};
    for (const Block& b : request(*a, sizes)) {
        EXPECT_EQ(b.data, nullptr) << b.bytes << " bytes";
    }
    expect_pool_holds(*a, {});
    const auto blocks = request(*a, {100});
    EXPECT_NE(blocks[0].data, nullptr) << "the pool must work after refusals";
    release(*a, blocks);
}

TEST_P(ConformanceTest, TakesNoMoreThanWasAskedFor) {
    if (traits_.one_heap && machine_.place == allocators::Place::device) {
        GTEST_SKIP() << traits_.name << "'s heap is as large as the first pool";
    }
    const std::uint64_t least = traits_.smallest_pool;
    for (const std::uint64_t bytes : {least, least + 1, 3 * least + 33, pool_bytes_ / 7}) {
        if (bytes < least) continue;
        EXPECT_LE(make(bytes)->pool_bytes(), bytes);
        EXPECT_LE(make(bytes, bytes / 3)->pool_bytes(), bytes);
    }
}

TEST_P(ConformanceTest, IgnoresNullInDeallocate) {
    auto a = make(pool_bytes_);
    auto null = array<Block>(1);
    auto tally = array<Tally>(1);
    a->run(1, ReleaseBody<AnyRef>{a->ref(), null.data(), 1, 1, 1, tally.data()});
    expect_pool_holds(*a, {});
}

TEST_P(ConformanceTest, GivesEverySize) {
    auto a = make(pool_bytes_);
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t n = 1; n <= 300; ++n) sizes.push_back(n);
    for (std::uint64_t n = 512; n <= pool_bytes_ / 16; n *= 2) {
        const std::uint64_t size = n - extra_bytes_;
        sizes.insert(sizes.end(), {size - 1, size, size + 1});
    }
    const auto blocks = request(*a, sizes);
    for (const Block& b : blocks) ASSERT_NE(b.data, nullptr) << b.bytes << " bytes";
    expect_pool_holds(*a, blocks);
    release(*a, blocks);
    expect_empty(*a);
}

TEST_P(ConformanceTest, GivesTheLargestBlockAgainWhenAllIsFree) {
    auto a = make(pool_bytes_);
    // The largest request of a fresh pool, to a sixteenth of it.
    std::uint64_t largest = 0;
    for (std::uint64_t parts = 16; parts > 0 && largest == 0; --parts) {
        const auto whole = request(*a, {a->pool_bytes() / 16 * parts});
        if (whole[0].data == nullptr) continue;
        largest = whole[0].bytes;
        release(*a, whole);
    }
    ASSERT_GT(largest, 0U);
    if (!traits_.full || !traits_.walkable) return;
    const std::vector<std::uint64_t> small(500, pool_bytes_ / 1000);
    for (const int order : {0, 1, 2}) {
        auto blocks = request(*a, small);
        if (order == 1) std::reverse(blocks.begin(), blocks.end());
        if (order == 2) {
            release_shuffled(*a, blocks, test_seed());
        } else {
            release(*a, blocks);
        }
        expect_empty(*a);
        const auto whole = request(*a, {largest});
        ASSERT_NE(whole[0].data, nullptr) << "order of freeing: " << order;
        release(*a, whole);
    }
    // 0, if that was the whole pool.
    const double rest = 1 - static_cast<double>(largest) / static_cast<double>(a->pool_bytes());
    EXPECT_LE(allocators::external_fragmentation(a->use()), rest);
}

TEST_P(ConformanceTest, RefusesInBoundedTimeWhenExhausted) {
    auto a = make(pool_bytes_, pool_bytes_ / 8);
    const std::uint64_t seed = test_seed();
    const std::uint64_t bytes = a->pool_bytes() / 1024;
    const std::uint64_t room = 1024 + 8 * 1024;
    for (int round = 0; round < 3; ++round) {
        auto blocks = array<Block>(room);
        auto count = array<std::uint64_t>(1);
        // The rest of a pool that has no such block left is filled with crumbs.
        std::uint64_t large_count = 0;
        for (const std::uint64_t size : {bytes, bytes / 8}) {
            auto tally = tallies();
            a->run(warps_, FillBody<AnyRef>{a->ref(), size - extra_bytes_, blocks.data(), room, count.data(),
                                            kMultiprocessors, tally.data()});
            const Tally sum = expect_sound(tally);
            EXPECT_EQ(sum.failed, threads_) << "every thread goes on until it is refused";
            ASSERT_LE(count[0], room) << "more blocks than the pool has room for";
            if (size == bytes) large_count = count[0];
        }
        EXPECT_LE(large_count, 1024U);
        // Later rounds find the pool in pieces, of which one may be given to half its size.
        if (traits_.walkable) {
            EXPECT_GE(large_count, round == 0 ? 900U : 512U) << "refused with memory left";
        }
        std::vector<Block> live(blocks.begin(),
                                blocks.begin() + static_cast<std::ptrdiff_t>(count[0]));
        expect_pool_holds(*a, live);
        release_shuffled(*a, live, seed + static_cast<unsigned>(round));
        expect_empty(*a);
        if (!traits_.frees_individually) a->reset();
    }
}

TEST_P(ConformanceTest, KeepsBlocksApartUnderRandomChurn) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t largest_request : {std::uint64_t{0}, pool_bytes_ / 16}) {
        auto a = make(pool_bytes_, largest_request);
        auto slots = array<Block>(threads_ * kSlots);
        for (unsigned run = 0; run < 3; ++run) {
            const Tally sum = churn(*a, slots, seed + run);
            if (traits_.full) {
                // Lanes that call together are refused together: a whole warp, once. It happens
                // where threads that are about to give memory back do not run for long.
                const std::uint64_t warp = threads_ / warps_;
                EXPECT_LE(sum.failed, std::max(sum.requests / 100, warp))
                    << "in a pool that is almost empty";
            }
            expect_pool_holds(*a, slots.copy());
        }
        release_shuffled(*a, slots.copy(), seed);
        expect_empty(*a);
    }
}

TEST_P(ConformanceTest, SurvivesChurnInAPoolThatIsTooSmall) {
    const std::uint64_t seed = test_seed();
    auto a = make(std::max<std::uint64_t>(traits_.smallest_pool, pool_bytes_ / 64));
    auto slots = array<Block>(threads_ * kSlots);
    churn(*a, slots, seed);
    expect_pool_holds(*a, slots.copy());
    release_shuffled(*a, slots.copy(), seed);
    expect_empty(*a);
}

TEST_P(ConformanceTest, LetsOthersFree) {
    auto a = make(pool_bytes_, pool_bytes_ / 16);
    const unsigned box_count = threads_ / 2 + 1;
    auto boxes = array<std::uint64_t>(box_count);
    auto tally = tallies();
    const HandOverBody<AnyRef> body{a->ref(), boxes.data(), box_count,        rounds_,
                                    largest_, test_seed(),  kMultiprocessors, tally.data()};
    a->run(warps_, body);
    a->run(1, EmptyBoxesBody<AnyRef>{body});
    const Tally sum = expect_sound(tally);
    EXPECT_EQ(sum.frees, sum.requests - sum.failed);
    EXPECT_GT(sum.frees, 0U);
    expect_empty(*a);
}

TEST_P(ConformanceTest, ServesLanesThatUseTwoPoolsFromEachItsOwn) {
    if (traits_.one_at_a_time) GTEST_SKIP() << traits_.name << " has one pool at a time";
    constexpr unsigned kEach = 20;
    const std::uint64_t seed = test_seed();
    const std::unique_ptr<AnyPool> pools[2] = {make(pool_bytes_), make(pool_bytes_)};
    auto blocks = array<Block>(threads_ * kEach);
    auto tally = tallies();
    pools[0]->run(warps_, TwoPoolsBody<AnyRef>{{pools[0]->ref(), pools[1]->ref()},
                                               blocks.data(),
                                               kEach,
                                               kMultiprocessors,
                                               tally.data()});
    EXPECT_EQ(expect_sound(tally).failed, 0U) << "in pools that are almost empty";
    std::vector<Block> live[2];
    for (unsigned i = 0; i < threads_ * kEach; ++i) {
        if (blocks[i].data != nullptr) live[i / kEach % 2].push_back(blocks[i]);
    }
    for (unsigned i = 0; i < 2; ++i) {
        expect_pool_holds(*pools[i], live[i]);
        if (::testing::Test::HasFailure()) return;  // a block may be the other pool's
        const auto [first, last] = std::ranges::minmax(live[i], {}, &Block::data);
        if (traits_.walkable) {
            EXPECT_LT(static_cast<char*>(last.data) - static_cast<char*>(first.data),
                      static_cast<std::ptrdiff_t>(pools[i]->pool_bytes()));
        }
    }
    for (unsigned i = 0; i < 2; ++i) {
        release_shuffled(*pools[i], live[i], seed);
        expect_empty(*pools[i]);
    }
}

TEST_P(ConformanceTest, StartsAnewAfterReset) {
    if (!traits_.walkable) GTEST_SKIP() << traits_.name << " cannot be reset";
    auto a = make(pool_bytes_, pool_bytes_ / 16);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> fresh;
    for (const auto& r : a->regions()) fresh.emplace_back(r.offset, r.size);
    request(*a, std::vector<std::uint64_t>(300, 1000));
    a->reset();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> again;
    for (const auto& r : a->regions()) {
        EXPECT_FALSE(r.allocated);
        again.emplace_back(r.offset, r.size);
    }
    EXPECT_EQ(again, fresh);
    const auto blocks = request(*a, std::vector<std::uint64_t>(300, 1000));
    for (const Block& b : blocks) ASSERT_NE(b.data, nullptr);
    expect_pool_holds(*a, blocks);
}

TEST_P(ConformanceTest, WorksInTheSmallestPool) {
    EXPECT_THROW(make(traits_.smallest_pool - 1), std::invalid_argument);
    EXPECT_THROW(make(0), std::invalid_argument);
    auto a = make(traits_.smallest_pool);
    const auto blocks = request(*a, {1, 16, 100, 1000});
    for (const Block& b : blocks) EXPECT_NE(b.data, nullptr) << b.bytes << " bytes";
    expect_pool_holds(*a, blocks);
    release(*a, blocks);
    expect_empty(*a);
}

}  // namespace

}  // namespace heapwood::tests
