/// @file
/// The Ouroboros allocators with threads that are stalled at their dangerous points: above all for
/// the thread sanitizer.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "allocators/ouroboros.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/stalling.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

/// A policy whose threads now and then sleep where that may hurt, whose queues are often
/// full, and whose requests soon open a chunk for themselves.
template <class Base>
struct Stalling : Base {
    static constexpr std::uint32_t kMostEntries = 64;
    static constexpr std::uint32_t kMostParts = 2;
    static constexpr unsigned kPatience = 2;
    static void pause() { stall_now_and_then(8); }
};

template <class Policy>
using Stalled = Subject<allocators::ouroboros::Pool<Stalling<Policy>>, SerialMachine>;

}  // namespace

template <class S>
class OuroborosStress : public AllocatorTest<S> {};
using OuroborosStressSubjects = ::testing::Types<
    Stalled<allocators::OuroborosPSPolicy>, Stalled<allocators::OuroborosPVAPolicy>,
    Stalled<allocators::OuroborosPVLPolicy>, Stalled<allocators::OuroborosCSPolicy>,
    Stalled<allocators::OuroborosCVAPolicy>, Stalled<allocators::OuroborosCVLPolicy>>;
TYPED_TEST_SUITE(OuroborosStress, OuroborosStressSubjects);

[[maybe_unused]] const bool ouroboros_variants_are_enlisted =
    enlist<Stalled<allocators::OuroborosPVLPolicy>::Allocator, SerialMachine>(
        "stalling_ouroboros_p_vl") &&
    enlist<Stalled<allocators::OuroborosCVAPolicy>::Allocator, SerialMachine>(
        "stalling_ouroboros_c_va");

TYPED_TEST(OuroborosStress, TinyPools) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {16384U, 32768U, 262144U}) {
        // Few sizes, so that threads meet; and all of them.
        for (const std::uint64_t largest : {16U, 600U, 8192U}) {
            auto a = T::make(bytes);
            typename T::template Array<Block> slots(T::kThreads * T::kSlots);
            typename T::template Array<Tally> tally(T::kThreads);
            T::Machine::run(T::kWarps, ChurnBody<typename T::Ref>{
                                           a->ref(), slots.data(), T::kSlots, 400, largest, seed,
                                           T::kMultiprocessors, tally.data(), nullptr});
            const Tally sum = T::expect_sound(tally);
            EXPECT_GT(sum.requests - sum.failed, sum.requests / 4);
            T::expect_pool_holds(*a, slots);
            T::release_shuffled(*a, slots, seed);
            T::expect_empty(*a);
            EXPECT_NE(T::request(*a, {a->pool_bytes()})[0].data, nullptr);
        }
    }
}

TYPED_TEST(OuroborosStress, FullPools) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    auto a = T::make(65536);
    for (const std::uint64_t bytes : {16U, 200U, 512U}) {
        const std::uint64_t room = 2 * 65536 / bytes;
        typename T::template Array<Block> blocks(room);
        typename T::template Array<std::uint64_t> count(1);
        typename T::template Array<Tally> tally(T::kThreads);
        T::Machine::run(
            T::kWarps, FillBody<typename T::Ref>{a->ref(), bytes, blocks.data(), room, count.data(),
                                                 T::kMultiprocessors, tally.data()});
        T::expect_sound(tally);
        ASSERT_LE(count[0], room);
        const std::uint64_t page = a->ref().granted_bytes(blocks[0].data, bytes);
        EXPECT_GE(count[0] * page, 65536 * 7 / 8) << "refused with memory left";
        const std::vector<Block> live(blocks.begin(),
                                      blocks.begin() + static_cast<std::ptrdiff_t>(count[0]));
        T::expect_pool_holds(*a, live);
        T::release_shuffled(*a, live, seed);
        T::expect_empty(*a);
    }
    EXPECT_NE(T::request(*a, {a->pool_bytes()})[0].data, nullptr);
}

TYPED_TEST(OuroborosStress, HandOver) {
    using T = TestFixture;
    auto a = T::make(262144);
    constexpr unsigned kBoxes = 64;
    typename T::template Array<std::uint64_t> boxes(kBoxes);
    typename T::template Array<Tally> tally(T::kThreads);
    const HandOverBody<typename T::Ref> body{
        a->ref(), boxes.data(), kBoxes, 2000, 600, test_seed(), T::kMultiprocessors, tally.data()};
    T::Machine::run(T::kWarps, body);
    T::Machine::run(1, EmptyBoxesBody<typename T::Ref>{body});
    T::expect_sound(tally);
    T::expect_empty(*a);
    EXPECT_NE(T::request(*a, {a->pool_bytes()})[0].data, nullptr);
}

}  // namespace heapwood::tests
