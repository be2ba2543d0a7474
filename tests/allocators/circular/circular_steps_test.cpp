/// @file
/// How long a request takes that is refused, counted in steps, not in time: what search.cuh and
/// README say of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

#include "allocators/circular.cuh"

namespace heapwood::allocators {

namespace {

/// A policy whose steps are counted. For one thread.
template <class Policy>
struct Stepping : Policy {
    static inline std::uint64_t steps = 0;
    static void pause() { ++steps; }
};

template <class P>
class CircularStepsTest : public ::testing::Test {
protected:
    using Policy = Stepping<P>;
    using A = circular::CircularMalloc<Policy>;

    /// Traversals from chunk 0 until a pool is called full, and the one before to the sentinel.
    static constexpr std::uint64_t kTraversals = 2 + Policy::Headers::kConfirmations;
    /// In a few stretches; or on from the hint, then from a refuge of each level (at most
    /// log2(1024) + 1).
    static constexpr std::uint64_t kNearby = circular::kMostSteps * (circular::kMostRefuges + 11);

    static std::uint64_t steps_of_a_refusal(const A& a, std::uint64_t bytes) {
        Policy::steps = 0;
        EXPECT_EQ(a.ref().allocate({.multiprocessor = 1, .warp = 1}, bytes), nullptr);
        return Policy::steps;
    }
    static std::uint64_t chunks(const A& a) {
        std::uint64_t count = 1;  // the sentinel
        a.for_each_region([&](const Region&) { ++count; });
        return count;
    }
};

using Policies = ::testing::Types<CMallocPolicy, CFMallocPolicy, CMMallocPolicy, CFMMallocPolicy,
                                  CDMallocPolicy>;
TYPED_TEST_SUITE(CircularStepsTest, Policies);

TYPED_TEST(CircularStepsTest, ARefusalTraversesTheRingAFewTimes) {
    for (const std::uint64_t size : {64U, 1024U}) {
        typename TestFixture::A a(
            {.place = Place::host, .bytes = 1 << 20, .multiprocessors = 8, .callers = 64});
        const auto ref = a.ref();
        std::uint64_t blocks = 0;
        for (std::uint32_t warp = 0;; warp = (warp + 1) % 64, ++blocks) {
            if (ref.allocate({.multiprocessor = warp % 8, .warp = warp}, size) == nullptr) break;
        }
        ASSERT_GT(blocks, (1 << 20) / size / 2);
        const std::uint64_t all = TestFixture::chunks(a);
        const std::uint64_t small = TestFixture::steps_of_a_refusal(a, size);
        EXPECT_GT(small, all);
        EXPECT_LE(small, TestFixture::kTraversals * all + TestFixture::kNearby);
        // A large request first looks many times for those that give back what they cut.
        const std::uint64_t large = TestFixture::steps_of_a_refusal(a, 1 << 18);
        const std::uint64_t looks = TypeParam::kShares ? circular::kMostLooks : 0;
        EXPECT_LE(large, (looks + TestFixture::kTraversals) * all + TestFixture::kNearby);
        std::cout << TypeParam::traits().name << ", " << all << " chunks of " << size
                  << " bytes: a refusal looks at " << small << " headers, of 256 KiB at " << large
                  << std::endl;
    }
}

template <class P>
class SharesStepsTest : public CircularStepsTest<P> {};
using PoliciesOfShares = ::testing::Types<CMMallocPolicy, CFMMallocPolicy>;
TYPED_TEST_SUITE(SharesStepsTest, PoliciesOfShares);

TYPED_TEST(SharesStepsTest, WhereSharesAreFullTheChunkForLargeRequestsIsNear) {
    constexpr std::uint64_t kPool = 1 << 20;
    constexpr std::uint32_t kMultiprocessors = 8;
    constexpr std::uint64_t kBytes = 1024;
    typename TestFixture::A a(
        {.place = Place::host, .bytes = kPool, .multiprocessors = kMultiprocessors});
    const auto shares = circular::cut_shares<TypeParam>(kPool / 16, 4, 0, kMultiprocessors);
    const std::uint64_t in_shares =
        shares.count * (shares.size - shares.stretches * shares.stretch_size) * 16 / kBytes;
    const std::uint64_t in_large = shares.begin * 16 / kBytes;
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < in_shares + in_large * 3 / 4; ++i) {
        TestFixture::Policy::steps = 0;
        const Context context{.multiprocessor = i % kMultiprocessors, .warp = i};
        ASSERT_NE(a.ref().allocate(context, kBytes), nullptr) << i;
        most = std::max(most, TestFixture::Policy::steps);
    }
    // Through the share once, and from the annex or the common hint on.
    EXPECT_LE(most, 3 * circular::kMostSteps) << "headers";
}

}  // namespace
}  // namespace heapwood::allocators
