/// @file
/// The published circular allocators go wrong on a GPU, and the sound ones do not, under the stress
/// of published_stress.h.
#include <gtest/gtest.h>

#include "tests/allocators/platform/machines.h"
#include "tests/allocators/specimens/published_stress.h"

namespace heapwood::tests {

namespace {

/// 2048 threads. They use about a quarter of the pool at once.
constexpr StressScale kScale{.warps = 64, .rounds = 60, .pool = 2 << 20, .largest = 1500};
/// Of about 90,000 operations each.
constexpr unsigned kPublishedRuns = 20;
constexpr unsigned kSoundRuns = 20;

template <class A>
class GpuStressTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!DeviceMachine::available()) GTEST_SKIP() << "no such device";
    }
};

template <class A>
class PublishedStressTest : public GpuStressTest<A> {};
TYPED_TEST_SUITE(PublishedStressTest, PublishedForms<Stalling>, FormNames);

TYPED_TEST(PublishedStressTest, Breaks) {
    stress<TypeParam, DeviceMachine>(kScale, kPublishedRuns, true);
}

template <class A>
class SoundStressTest : public GpuStressTest<A> {};
TYPED_TEST_SUITE(SoundStressTest, SoundForms<Stalling>, FormNames);

/// Some five million operations.
TYPED_TEST(SoundStressTest, Holds) {
    stress<TypeParam, DeviceMachine>(kScale, kSoundRuns, false);
}

}  // namespace

}  // namespace heapwood::tests
