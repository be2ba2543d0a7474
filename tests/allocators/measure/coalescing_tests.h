/// @file
/// Tests of Coalescing around several allocators on every machine: warps whose lanes ask together,
/// and free apart or together, in any order, their own parts and those of other warps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "allocators/measure/coalescing.cuh"
#include "allocators/measure/counting.cuh"
#include "tests/allocators/fixture.h"

namespace heapwood::tests {

/// A Ref whose calls are the collective ones of a warp.
template <class Ref, class W>
struct Together {
    const Ref& ref;
    const W& warp;

    HEAPWOOD_FN void* allocate(const allocators::Context& context, std::size_t bytes) const {
        return ref.allocate(warp, context, bytes);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return ref.granted_bytes(p, bytes);
    }
};

/// Lane i of the first warp asks for blocks[i].bytes, all lanes together.
template <class Ref>
struct RequestTogetherBody {
    Ref ref;
    Block* blocks;
    Tally* tally;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w != 0) return;
        const unsigned lane = warp.lane();
        blocks[lane] = request(Together<Ref, W>{ref, warp}, context_of(w, 1), blocks[lane].bytes,
                               lane * 0x0123456789abcdU, tally[lane]);
    }
};

/// The lanes of the first warp free blocks[i], all together; nullptr: nothing.
template <class Ref>
struct ReleaseTogetherBody {
    Ref ref;
    const Block* blocks;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w != 0) return;
        const Block& b = blocks[warp.lane()];
        ref.deallocate(warp, context_of(w, 1), b.data, b.bytes);
    }
};

/// Every warp asks together, for nothing, something or too much; each lane puts what it gets into
/// a box, and frees what it finds there, apart from the others or together with them.
template <class Ref>
struct HandOverTogetherBody {
    HandOverBody<Ref> hand_over;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const HandOverBody<Ref>& h = hand_over;
        const unsigned t = w * W::width + warp.lane();
        const auto context = context_of(w, h.multiprocessors);
        Tally& tally = h.tally[t];
        Dice dice{h.seed + t * 0x5851f42d4c957f2dU};
        Dice common{h.seed + ~std::uint64_t{w}};
        for (unsigned i = 0; i < h.rounds; ++i) {
            std::uint64_t bytes = sizeof(Block) + dice.size(h.largest);
            if (const std::uint64_t roll = dice.below(64); roll < 16) {
                bytes = roll == 0 ? std::uint64_t{1} << 60 : roll == 1 ? ~std::uint64_t{0} : 0;
            }
            const Block b =
                request(Together<Ref, W>{h.ref, warp}, context, bytes, dice.next(), tally);
            if (b.data != nullptr) *static_cast<Block*>(b.data) = b;
            // Release: hands over what was written to the part. Acquire: sees it.
            const std::uint64_t found =
                platform::AtomicRef(h.boxes[dice.below(h.box_count)])
                    .exchange_acq_rel(reinterpret_cast<std::uint64_t>(b.data));
            if (common.below(2) == 0) {
                if (found != 0) h.take_back(found, context, tally);
                continue;
            }
            Block old{};
            if (found != 0) {
                old = *reinterpret_cast<const Block*>(found);
                auto* p = reinterpret_cast<unsigned char*>(found);
                for (std::uint64_t k = 0; k < sizeof(Block); ++k) p[k] = stamp_byte(old.stamp, k);
                if (!has_stamp(old)) ++tally.corrupt;
                ++tally.frees;
            }
            h.ref.deallocate(warp, context, old.data, old.bytes);
        }
    }
};

/// The lanes share a block, each frees its part when it likes, and then they want most of the pool,
/// which only the last of them can have: over memory that the others used a moment ago.
template <class Ref>
struct ReuseBody {
    Ref ref;
    std::uint64_t part_bytes;
    std::uint64_t whole_bytes;
    unsigned rounds;
    Tally* parts;
    Tally* wholes;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w != 0) return;
        const unsigned lane = warp.lane();
        const auto context = context_of(w, 1);
        for (unsigned i = 0; i < rounds; ++i) {
            const Block part =
                request(Together<Ref, W>{ref, warp}, context, part_bytes, i + lane, parts[lane]);
            if (part.data != nullptr) release(ref, context, part, parts[lane]);
            const Block whole = request(ref, context, whole_bytes, i + lane, wholes[lane]);
            if (whole.data != nullptr) release(ref, context, whole, wholes[lane]);
        }
    }
};

/// The fixture, with its allocator, counted, in the adaptor.
template <class S>
class CoalescingTest
    : public AllocatorTest<
          Subject<allocators::Coalescing<allocators::Counting<typename S::Allocator>>,
                  typename S::Machine>> {
protected:
    using Base =
        AllocatorTest<Subject<allocators::Coalescing<allocators::Counting<typename S::Allocator>>,
                              typename S::Machine>>;
    using typename Base::A;
    using typename Base::Machine;
    template <class T>
    using Array = typename Base::template Array<T>;

    static constexpr unsigned kWidth = Machine::Warp::width;
    static constexpr bool kSplits = Base::traits.splittable || !Base::traits.frees_individually;

    static std::vector<Block> request_together(A& a, std::vector<std::uint64_t> sizes) {
        sizes.resize(kWidth);
        Array<Block> blocks(kWidth);
        for (unsigned i = 0; i < kWidth; ++i) blocks[i].bytes = sizes[i];
        Array<Tally> tally(kWidth);
        Machine::run(1, RequestTogetherBody<typename A::Ref>{a.ref(), blocks.data(), tally.data()});
        Base::expect_sound(tally);
        return {blocks.begin(), blocks.end()};
    }
    static void release_together(A& a, const std::vector<Block>& blocks) {
        Array<Block> list(kWidth);
        std::copy(blocks.begin(), blocks.end(), list.begin());
        Machine::run(1, ReleaseTogetherBody<typename A::Ref>{a.ref(), list.data()});
    }
    /// What the adaptor adds to a lane's request, by its description.
    static std::uint64_t share(std::uint64_t bytes) {
        return kSplits ? (bytes + 15) / 16 * 16 : ((bytes + 3) / 4 * 4 + 4 + 15) / 16 * 16;
    }
};

TYPED_TEST_SUITE_P(CoalescingTest);

TYPED_TEST_P(CoalescingTest, MakesOneRequestOfMany) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    a->reset();
    std::vector<std::uint64_t> sizes{1, 12, 13, 16, 100, 0, a->pool_bytes() + 1, ~std::uint64_t{0}};
    while (sizes.size() < 32) sizes.push_back(sizes.size() * 3);
    const auto blocks = T::request_together(*a, sizes);
    std::uint64_t given = 0;
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < T::kWidth; ++i) {
        const bool valid = i != 5 && i != 6 && i != 7;
        ASSERT_EQ(blocks[i].data != nullptr, valid) << sizes[i] << " bytes";
        if (!valid) continue;
        ++given;
        bytes += T::share(sizes[i]);
    }
    if (given > 1 && !T::kSplits) bytes += 16;
    const allocators::Statistics s = a->inner().statistics();
    EXPECT_EQ(s.requests, 1U);
    EXPECT_DOUBLE_EQ(s.mean_bytes, static_cast<double>(bytes));
    T::expect_pool_holds(*a, blocks);

    // The block is freed with its last part.
    auto order = blocks;
    std::erase_if(order, [](const Block& b) { return b.data == nullptr; });
    std::shuffle(order.begin(), order.end(), std::mt19937_64(test_seed()));
    for (std::uint64_t i = 0; i < given; ++i) {
        EXPECT_EQ(a->inner().statistics().frees, T::kSplits ? i : 0U);
        T::release(*a, {order[i]});
    }
    EXPECT_EQ(a->inner().statistics().frees, T::kSplits ? given : 1U);
    EXPECT_EQ(a->inner().statistics().live_bytes, 0U) << "freed with another size";
    T::expect_empty(*a);
}

TYPED_TEST_P(CoalescingTest, GivesALaneAloneNoHead) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    a->reset();
    std::vector<std::uint64_t> sizes(T::kWidth);
    sizes.back() = 100;
    const auto blocks = T::request_together(*a, sizes);
    EXPECT_NE(blocks.back().data, nullptr);
    EXPECT_DOUBLE_EQ(a->inner().statistics().mean_bytes, 112);
    T::release_together(*a, blocks);
    EXPECT_EQ(a->inner().statistics().live_bytes, 0U);
    T::expect_empty(*a);
}

TYPED_TEST_P(CoalescingTest, HandsMemoryOnAfterItsLastPart) {
    using T = TestFixture;
    if (!T::traits.frees_individually) GTEST_SKIP() << T::traits.name << " frees nothing";
    auto a = T::make(T::kPool / 64);
    const std::uint64_t bytes = a->pool_bytes();
    typename T::template Array<Tally> parts(T::kWidth);
    typename T::template Array<Tally> wholes(T::kWidth);
    T::Machine::run(1, ReuseBody<typename T::Ref>{a->ref(), bytes / (4 * T::kWidth), bytes / 2, 200,
                                                  parts.data(), wholes.data()});
    T::expect_sound(parts);
    const Tally sum = T::expect_sound(wholes);
    EXPECT_GT(sum.frees, 0U);
    T::expect_empty(*a);
}

TYPED_TEST_P(CoalescingTest, FreesPartsOfSeveralGroupsTogether) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    a->reset();
    constexpr unsigned kGroups = 5;
    std::vector<Block> all;
    for (unsigned g = 0; g < kGroups; ++g) {
        const auto blocks = T::request_together(*a, std::vector<std::uint64_t>(T::kWidth, 20 + g));
        all.insert(all.end(), blocks.begin(), blocks.end());
    }
    // Blocks of single requests among them.
    const auto single = T::request(*a, std::vector<std::uint64_t>(T::kWidth / 2, 40));
    all.insert(all.end(), single.begin(), single.end());
    T::expect_pool_holds(*a, all);
    std::shuffle(all.begin(), all.end(), std::mt19937_64(test_seed()));
    while (!all.empty()) {
        // Some lanes free nothing.
        const std::size_t n = std::min<std::size_t>(all.size(), T::kWidth > 1 ? T::kWidth - 3 : 1);
        const auto first = all.end() - static_cast<std::ptrdiff_t>(n);
        T::release_together(*a, {first, all.end()});
        all.erase(first, all.end());
        T::expect_pool_holds(*a, all);
    }
    const allocators::Statistics s = a->inner().statistics();
    EXPECT_EQ(s.requests, kGroups + single.size());
    EXPECT_EQ(s.frees, T::kSplits ? kGroups * T::kWidth + single.size() : s.requests);
}

TYPED_TEST_P(CoalescingTest, LetsOthersFree) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    // The second pool is too small for most groups, but not for all lanes.
    for (const std::uint64_t bytes : {T::kPool, T::kPool / 64}) {
        auto a = T::make(bytes);
        a->reset();
        constexpr unsigned kBoxes = T::kThreads / 2 + 1;
        typename T::template Array<std::uint64_t> boxes(kBoxes);
        typename T::template Array<Tally> tally(T::kThreads);
        const HandOverBody<typename T::Ref> body{
            a->ref(), boxes.data(),        kBoxes,      T::kRounds, T::kLargest,
            seed,     T::kMultiprocessors, tally.data()};
        T::Machine::run(T::kWarps, HandOverTogetherBody<typename T::Ref>{body});
        T::Machine::run(1, EmptyBoxesBody<typename T::Ref>{body});
        const Tally sum = T::expect_sound(tally);
        EXPECT_EQ(sum.frees, sum.requests - sum.failed);
        EXPECT_GT(sum.frees, 0U);
        const allocators::Statistics s = a->inner().statistics();
        EXPECT_EQ(s.frees, T::kSplits ? sum.frees : s.requests - s.failed);
        T::expect_empty(*a);
    }
}

TYPED_TEST_P(CoalescingTest, RefusesOnlyWhatItMust) {
    using T = TestFixture;
    auto a = T::make(T::kPool);
    // The pool has room for one group of these, but not for a second; for some of its lanes it has.
    const std::uint64_t bytes = T::kPool / (T::kWidth + T::kWidth / 2 + 1);
    const std::vector<std::uint64_t> sizes(T::kWidth, bytes);
    std::vector<Block> live;
    for (int round = 0; round < 2; ++round) {
        for (const Block& b : T::request_together(*a, sizes)) {
            if (b.data != nullptr) live.push_back(b);
        }
    }
    EXPECT_GE(live.size(), T::kWidth);
    EXPECT_LE(live.size(), T::kWidth + T::kWidth / 2 + 1);
    EXPECT_EQ(T::request(*a, {bytes})[0].data, nullptr);
    T::expect_pool_holds(*a, live);
    T::release_shuffled(*a, live, test_seed());
    T::expect_empty(*a);
    if (T::traits.frees_individually) {
        const auto again = T::request_together(*a, sizes);
        EXPECT_NE(again[T::kWidth - 1].data, nullptr);
        T::release_together(*a, again);
        T::expect_empty(*a);
    }
}

REGISTER_TYPED_TEST_SUITE_P(CoalescingTest, MakesOneRequestOfMany, GivesALaneAloneNoHead,
                            HandsMemoryOnAfterItsLastPart, FreesPartsOfSeveralGroupsTogether,
                            LetsOthersFree, RefusesOnlyWhatItMust);

}  // namespace heapwood::tests
