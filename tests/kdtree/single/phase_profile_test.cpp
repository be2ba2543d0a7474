/// @file
/// What the clocks of a profiling build record. Other tests are compiled without them.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "allocators/platform/clock.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/single/phase_profile.cuh"

namespace heapwood::kdtree {

namespace {

static_assert(kProfiling);

std::uint64_t sum(const std::uint64_t (&values)[kPhases]) {
    return std::accumulate(std::begin(values), std::end(values), std::uint64_t{0});
}
std::uint64_t busy(const PhaseProfile& profile) {
    return std::accumulate(std::begin(profile.busy), std::end(profile.busy), std::uint64_t{0});
}
std::uint64_t time_in(const PhaseProfile& profile, Phase phase) {
    return profile.phases[static_cast<unsigned>(phase)];
}
void pass(std::uint64_t nanoseconds) {
    platform::wait_until(platform::nanoseconds() + nanoseconds);
}

TEST(PhaseClock, RecordsNothingBeforeItHasStarted) {
    std::vector<PhaseProfile> profiles(1);
    PhaseClock clock(platform::SerialWarp{}, profiles.data(), 0);
    clock.enter(Phase::wait);
    clock.enter(Phase::search);
    clock.enter(Phase::wait);
    EXPECT_EQ(sum(profiles[0].phases), 0U);
    EXPECT_EQ(busy(profiles[0]), 0U);
}

TEST(PhaseClock, DealsAllTimeOutToPhasesAndWorkToIntervals) {
    std::vector<PhaseProfile> profiles(2);
    PhaseClock first(platform::SerialWarp{}, profiles.data(), 0);
    PhaseClock second(platform::SerialWarp{}, profiles.data(), 1);
    first.start_all();
    second.enter(Phase::wait);
    second.start();
    const std::uint64_t begin = profiles[1].start;
    EXPECT_EQ(begin, profiles[0].start);
    pass(100000);
    second.enter(Phase::search);
    pass(300000);
    second.enter(Phase::wait);
    pass(200000);
    second.enter(Phase::other);
    const std::uint64_t all = platform::nanoseconds() - begin;

    const PhaseProfile& profile = profiles[1];
    EXPECT_GE(time_in(profile, Phase::search), 300000U);
    EXPECT_GE(time_in(profile, Phase::wait), 200000U);
    EXPECT_LE(sum(profile.phases), all);
    EXPECT_GE(sum(profile.phases), 600000U);
    // What comes before the wait is work.
    EXPECT_EQ(busy(profile), sum(profile.phases) - time_in(profile, Phase::wait));
    EXPECT_GT(profile.busy[300000U >> PhaseProfile::kIntervalBits], 0U);
    EXPECT_EQ(sum(profiles[0].phases), 0U);
}

}  // namespace

}  // namespace heapwood::kdtree
