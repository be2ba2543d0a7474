/// @file
/// Tests of allocate_pair (allocator.cuh: AllocatesPairs) on every machine: what the conformance
/// suite asks of single blocks, asked of two at once.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/allocators/pool_test.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

class PairTest : public PoolTest {
protected:
    /// All threads hand pairs and single blocks over to one another. @return how often they were
    /// refused something that was not too large.
    std::uint64_t hand_over(AnyPool& a, std::uint64_t largest, std::uint64_t seed) const {
        const unsigned box_count = threads_ * 3;
        auto boxes = array<std::uint64_t>(box_count);
        auto tally = tallies();
        const HandOverBody<AnyRef> body{a.ref(), boxes.data(), box_count,        rounds_,
                                        largest, seed,         kMultiprocessors, tally.data()};
        a.run(warps_, PairHandOverBody<AnyRef>{body, a.pool_bytes() + 1});
        std::vector<Block> live;
        if (machine_.place == allocators::Place::host) {
            for (const std::uint64_t address : boxes) {
                if (address != 0) live.push_back(*reinterpret_cast<const Block*>(address));
            }
            expect_pool_holds(a, live);
        }
        a.run(1, EmptyBoxesBody<AnyRef>{body});
        const Tally sum = expect_sound(tally);
        EXPECT_EQ(sum.frees, sum.requests - sum.failed) << "what was refused has allocated nothing";
        EXPECT_GT(sum.frees, sum.requests / 4);
        expect_empty(a);
        return sum.failed;
    }
    /// Whether the pool is one region, so that one block can have all of it. A pool in parts has no
    /// walk here.
    bool has_one_region() const { return traits_.walkable; }
    void expect_whole_pool_free(AnyPool& a) const {
        if (!has_one_region()) return;
        const auto whole = request(a, {a.pool_bytes()});
        EXPECT_NE(whole[0].data, nullptr);
        release(a, whole);
    }
};
INSTANTIATE_TEST_SUITE_P(, PairTest, ::testing::ValuesIn(subjects_of(Role::conformance, true)),
                         subject_name);
// A short list of allocators may have none for these tests.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PairTest);

TEST_P(PairTest, RefusesBothIfEitherIsNothingOrTooLarge) {
    auto a = make(pool_bytes_);
    const std::uint64_t most = std::numeric_limits<std::size_t>::max();
    const std::uint64_t all = a->pool_bytes();
    std::vector<std::uint64_t> sizes;
    for (const std::uint64_t good : {std::uint64_t{16}, std::uint64_t{100}, all / 4, all}) {
        for (const std::uint64_t bad : {std::uint64_t{0}, all + 1, most, most - 15, most - good + 1,
                                        std::uint64_t{1} << 63}) {
            sizes.insert(sizes.end(), {good, bad, bad, good, bad, bad});
        }
        // Each could be had, but not both.
        sizes.insert(sizes.end(), {good, all, all, good});
    }
    for (const Block& b : request_pairs(*a, sizes)) {
        EXPECT_EQ(b.data, nullptr) << b.bytes << " bytes";
    }
    expect_pool_holds(*a, {});
    const auto blocks = request_pairs(*a, {100, 50});
    EXPECT_NE(blocks[0].data, nullptr) << "the pool must work after refusals";
    expect_pool_holds(*a, blocks);
    release(*a, blocks);
    expect_empty(*a);
}

TEST_P(PairTest, GivesEverySizeBesideEveryOther) {
    const std::uint64_t seed = test_seed();
    auto a = make(pool_bytes_);
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t n = 1; n <= pool_bytes_ / 64; n = n * 3 / 2 + 1) {
        for (std::uint64_t m = 1; m <= pool_bytes_ / 64; m = m * 4 + 3) {
            sizes.insert(sizes.end(), {n, m});
        }
    }
    const auto blocks = request_pairs(*a, sizes);
    for (const Block& b : blocks) ASSERT_NE(b.data, nullptr) << b.bytes << " bytes";
    expect_pool_holds(*a, blocks);
    // One half of each pair is in use yet when the other has long been freed.
    std::vector<Block> halves[2];
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        const std::size_t first = random() % 2;
        halves[0].push_back(blocks[i + first]);
        halves[1].push_back(blocks[i + 1 - first]);
    }
    release_shuffled(*a, halves[0], seed);
    expect_pool_holds(*a, halves[1]);
    release_shuffled(*a, halves[1], seed);
    expect_empty(*a);
}

TEST_P(PairTest, GivesTheWholePoolInTwoHalves) {
    if (!has_one_region()) GTEST_SKIP() << "the pool has several parts";
    auto a = make(pool_bytes_);
    for (const std::uint64_t parts : {8U, 3U, 13U}) {
        const std::uint64_t first = a->pool_bytes() / 16 * parts;
        const auto blocks = request_pairs(*a, {first, a->pool_bytes() - first, 1, 1});
        EXPECT_NE(blocks[0].data, nullptr);
        EXPECT_EQ(blocks[2].data, nullptr) << "there is nothing left";
        expect_pool_holds(*a, blocks);
        release(*a, parts == 8 ? blocks : std::vector<Block>{blocks[1], blocks[0]});
        expect_empty(*a);
    }
}

TEST_P(PairTest, RefusesOnlyWhatThereIsNoRoomFor) {
    const std::uint64_t seed = test_seed();
    auto a = make(pool_bytes_);
    const std::uint64_t bytes = a->pool_bytes() / 1024;
    auto blocks = request_pairs(*a, std::vector<std::uint64_t>(2048, bytes));
    expect_pool_holds(*a, blocks);
    std::erase_if(blocks, [](const Block& b) { return b.data == nullptr; });
    // A chunk of less than twice the size may be given whole.
    EXPECT_GE(blocks.size(), 512U) << "refused with memory left";
    EXPECT_LE(blocks.size(), 1024U);
    // Wherever there is room for two blocks, they need not be neighbours.
    const auto rest = request(*a, std::vector<std::uint64_t>(4, bytes));
    EXPECT_EQ(rest[1].data, nullptr) << "there was room for a pair";
    blocks.insert(blocks.end(), rest.begin(), rest.end());
    std::erase_if(blocks, [](const Block& b) { return b.data == nullptr; });
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed));
    for (unsigned i = 0; i < 7; ++i) {
        release(*a, {blocks.back()});
        blocks.pop_back();
    }
    const auto again = request_pairs(*a, std::vector<std::uint64_t>(8, bytes));
    for (unsigned i = 0; i < 6; ++i) EXPECT_NE(again[i].data, nullptr) << i;
    blocks.insert(blocks.end(), again.begin(), again.end());
    expect_pool_holds(*a, blocks);
    release_shuffled(*a, blocks, seed);
    expect_empty(*a);
    expect_whole_pool_free(*a);
}

TEST_P(PairTest, LetsOthersFreeEitherHalf) {
    const std::uint64_t seed = test_seed();
    auto a = make(pool_bytes_, pool_bytes_ / 16);
    hand_over(*a, largest_, seed);
    a->reset();
    hand_over(*a, largest_, seed + 1);
}

TEST_P(PairTest, SurvivesAPoolThatIsTooSmall) {
    const std::uint64_t seed = test_seed();
    auto a = make(std::max<std::uint64_t>(traits_.smallest_pool, pool_bytes_ / 128));
    EXPECT_GT(hand_over(*a, a->pool_bytes() / 32, seed), 0U);
    expect_whole_pool_free(*a);
}

}  // namespace

}  // namespace heapwood::tests
