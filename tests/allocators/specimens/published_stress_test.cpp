/// @file
/// The published circular allocators go wrong on a CPU, and the sound ones do not, under the stress
/// of published_stress.h.
#include <gtest/gtest.h>

#include "tests/allocators/platform/machines.h"
#include "tests/allocators/specimens/published_stress.h"

namespace heapwood::tests {

namespace {

/// More threads than most machines' tests may use, so that one that sleeps is gone for a while.
constexpr StressScale kScale{.warps = 8, .rounds = 1000, .pool = 8192, .largest = 1500};
#if defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
/// About 5000 operations each. A published form survives one in three or four.
constexpr unsigned kRuns = kSanitized ? 10 : 60;

template <class A>
class PublishedStressTest : public ::testing::Test {};
TYPED_TEST_SUITE(PublishedStressTest, PublishedForms<Stalling>, FormNames);

TYPED_TEST(PublishedStressTest, Breaks) {
    if (kSanitized) GTEST_SKIP() << "the sanitizer would rightly report what this test provokes";
    stress<TypeParam, SerialMachine>(kScale, kRuns, true);
}

TYPED_TEST(PublishedStressTest, HoldsInOneThread) {
    StressScale alone = kScale;
    alone.warps = 1;
    stress<TypeParam, SerialMachine>(alone, kRuns, false);
}

template <class A>
class UnmergedStressTest : public ::testing::Test {};
TYPED_TEST_SUITE(UnmergedStressTest, UnmergedForms<Stalling>, FormNames);

/// What breaks the published forms are headers that are merged away, and nothing else.
TYPED_TEST(UnmergedStressTest, Holds) {
    stress<TypeParam, SerialMachine>(kScale, kRuns / 10, false);
}

template <class A>
class SoundStressTest : public ::testing::Test {};
TYPED_TEST_SUITE(SoundStressTest, SoundForms<Stalling>, FormNames);

/// Nearly three million operations.
TYPED_TEST(SoundStressTest, Holds) {
    stress<TypeParam, SerialMachine>(kScale, 3 * kRuns, false);
}

}  // namespace

}  // namespace heapwood::tests
