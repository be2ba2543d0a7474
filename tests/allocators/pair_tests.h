/// @file
/// Tests of allocate_pair (allocator.cuh: AllocatesPairs) on every machine: what the conformance
/// suite asks of single blocks, asked of two at once.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/allocators/fixture.h"

namespace heapwood::tests {

/// The fixture for an allocator that answers two requests at once.
template <class S>
class PairTest : public AllocatorTest<S> {
protected:
    using Base = AllocatorTest<S>;
    using typename Base::A;
    using typename Base::Ref;
    static_assert(allocators::AllocatesPairs<Ref>);

    /// One thread's pairs, one after the other: of sizes[0] and sizes[1], sizes[2] and sizes[3] ...
    static std::vector<Block> request_pairs(A& a, const std::vector<std::uint64_t>& sizes) {
        typename Base::template Array<Block> blocks(sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) blocks[i].bytes = sizes[i];
        typename Base::template Array<Tally> tally(1);
        Base::Machine::run(1,
                           PairBody<Ref>{a.ref(), blocks.data(), sizes.size() / 2, tally.data()});
        Base::expect_sound(tally);
        return {blocks.begin(), blocks.end()};
    }

    /// All threads hand pairs and single blocks over to one another. @return how often they were
    /// refused something that was not too large.
    static std::uint64_t hand_over(A& a, std::uint64_t largest, std::uint64_t seed) {
        constexpr unsigned kBoxes = Base::kThreads * 3;
        typename Base::template Array<std::uint64_t> boxes(kBoxes);
        typename Base::template Array<Tally> tally(Base::kThreads);
        const HandOverBody<Ref> body{
            a.ref(), boxes.data(),           kBoxes,      Base::kRounds, largest,
            seed,    Base::kMultiprocessors, tally.data()};
        Base::Machine::run(Base::kWarps, PairHandOverBody<Ref>{body, a.pool_bytes() + 1});
        std::vector<Block> live;
        if (Scale<typename Base::Machine>::place == allocators::Place::host) {
            for (const std::uint64_t address : boxes) {
                if (address != 0) live.push_back(*reinterpret_cast<const Block*>(address));
            }
            Base::expect_pool_holds(a, live);
        }
        Base::Machine::run(1, EmptyBoxesBody<Ref>{body});
        const Tally sum = Base::expect_sound(tally);
        EXPECT_EQ(sum.frees, sum.requests - sum.failed) << "what was refused has allocated nothing";
        EXPECT_GT(sum.frees, sum.requests / 4);
        Base::expect_empty(a);
        return sum.failed;
    }
};

TYPED_TEST_SUITE_P(PairTest);

TYPED_TEST_P(PairTest, RefusesBothIfEitherIsNothingOrTooLarge) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
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
    for (const Block& b : T::request_pairs(*a, sizes)) {
        EXPECT_EQ(b.data, nullptr) << b.bytes << " bytes";
    }
    T::expect_pool_holds(*a, {});
    const auto blocks = T::request_pairs(*a, {100, 50});
    EXPECT_NE(blocks[0].data, nullptr) << "the pool must work after refusals";
    T::expect_pool_holds(*a, blocks);
    T::release(*a, blocks);
    T::expect_empty(*a);
}

TYPED_TEST_P(PairTest, GivesEverySizeBesideEveryOther) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(T::kPool);
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t n = 1; n <= T::kPool / 64; n = n * 3 / 2 + 1) {
        for (std::uint64_t m = 1; m <= T::kPool / 64; m = m * 4 + 3) {
            sizes.insert(sizes.end(), {n, m});
        }
    }
    const auto blocks = T::request_pairs(*a, sizes);
    for (const Block& b : blocks) ASSERT_NE(b.data, nullptr) << b.bytes << " bytes";
    T::expect_pool_holds(*a, blocks);
    // One half of each pair is in use yet when the other has long been freed.
    std::vector<Block> halves[2];
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        const std::size_t first = random() % 2;
        halves[0].push_back(blocks[i + first]);
        halves[1].push_back(blocks[i + 1 - first]);
    }
    T::release_shuffled(*a, halves[0], seed);
    T::expect_pool_holds(*a, halves[1]);
    T::release_shuffled(*a, halves[1], seed);
    T::expect_empty(*a);
}

TYPED_TEST_P(PairTest, GivesTheWholePoolInTwoHalves) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    for (const std::uint64_t parts : {8U, 3U, 13U}) {
        const std::uint64_t first = a->pool_bytes() / 16 * parts;
        const auto blocks = T::request_pairs(*a, {first, a->pool_bytes() - first, 1, 1});
        EXPECT_NE(blocks[0].data, nullptr);
        EXPECT_EQ(blocks[2].data, nullptr) << "there is nothing left";
        T::expect_pool_holds(*a, blocks);
        T::release(*a, parts == 8 ? blocks : std::vector<Block>{blocks[1], blocks[0]});
        T::expect_empty(*a);
    }
}

TYPED_TEST_P(PairTest, RefusesOnlyWhatThereIsNoRoomFor) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(T::kPool);
    const std::uint64_t bytes = a->pool_bytes() / 1024;
    auto blocks = T::request_pairs(*a, std::vector<std::uint64_t>(2048, bytes));
    T::expect_pool_holds(*a, blocks);
    std::erase_if(blocks, [](const Block& b) { return b.data == nullptr; });
    // A chunk of less than twice the size may be given whole.
    EXPECT_GE(blocks.size(), 512U) << "refused with memory left";
    EXPECT_LE(blocks.size(), 1024U);
    // Wherever there is room for two blocks, they need not be neighbours.
    const auto rest = T::request(*a, std::vector<std::uint64_t>(4, bytes));
    EXPECT_EQ(rest[1].data, nullptr) << "there was room for a pair";
    blocks.insert(blocks.end(), rest.begin(), rest.end());
    std::erase_if(blocks, [](const Block& b) { return b.data == nullptr; });
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed));
    for (unsigned i = 0; i < 7; ++i) {
        T::release(*a, {blocks.back()});
        blocks.pop_back();
    }
    const auto again = T::request_pairs(*a, std::vector<std::uint64_t>(8, bytes));
    for (unsigned i = 0; i < 6; ++i) EXPECT_NE(again[i].data, nullptr) << i;
    blocks.insert(blocks.end(), again.begin(), again.end());
    T::expect_pool_holds(*a, blocks);
    T::release_shuffled(*a, blocks, seed);
    T::expect_empty(*a);
    const auto whole = T::request(*a, {a->pool_bytes()});
    EXPECT_NE(whole[0].data, nullptr);
    T::release(*a, whole);
}

TYPED_TEST_P(PairTest, LetsOthersFreeEitherHalf) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(T::kPool, T::kPool / 16);
    T::hand_over(*a, T::kLargest, seed);
    a->reset();
    T::hand_over(*a, T::kLargest, seed + 1);
}

TYPED_TEST_P(PairTest, SurvivesAPoolThatIsTooSmall) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(std::max<std::uint64_t>(T::traits.smallest_pool, T::kPool / 128));
    EXPECT_GT(T::hand_over(*a, a->pool_bytes() / 32, seed), 0U);
    const auto whole = T::request(*a, {a->pool_bytes()});
    EXPECT_NE(whole[0].data, nullptr);
    T::release(*a, whole);
}

REGISTER_TYPED_TEST_SUITE_P(PairTest, RefusesBothIfEitherIsNothingOrTooLarge,
                            GivesEverySizeBesideEveryOther, GivesTheWholePoolInTwoHalves,
                            RefusesOnlyWhatThereIsNoRoomFor, LetsOthersFreeEitherHalf,
                            SurvivesAPoolThatIsTooSmall);

}  // namespace heapwood::tests
