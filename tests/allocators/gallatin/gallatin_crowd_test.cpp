/// @file
/// Gallatin with calls that are stalled at the dangerous points of blocks and segments, and with
/// crowds.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/gallatin.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/herd.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::GallatinPolicy;
using allocators::PoolConfig;

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct HookedGallatinPolicy : GallatinPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static constexpr std::uint32_t kRounds = 4;
    static void pause() { Interruptible::pause(); }
};

TEST(GallatinInterleaving, StalledCallsHarmNobody) {
    using Hooked = allocators::BasicGallatin<HookedGallatinPolicy>;
    expect_stalls_harm_nobody<Hooked>({16384, 131072, 4 << 20}, 200, 40);
}

using StallingGallatin = allocators::BasicGallatin<Stalling<GallatinPolicy>>;
/// Lanes always act for one another, in groups of one.
struct CrowdedGallatinPolicy : GallatinPolicy {
    static bool is_crowded() { return true; }
};
using CrowdedGallatin = allocators::BasicGallatin<CrowdedGallatinPolicy>;

[[maybe_unused]] const bool gallatin_variants_are_enlisted =
    enlist<StallingGallatin, SerialMachine>("stalling_gallatin") &&
    enlist<CrowdedGallatin, SerialMachine>("crowded_gallatin");

TEST(GallatinHerd, IsServedWhileThereIsRoom) {
    expect_all_served<allocators::BasicGallatin<Sleepy<GallatinPolicy>>>({64, 200, 512, 1024});
}

struct WatchedGallatinPolicy : Watched<GallatinPolicy> {
    static constexpr std::uint32_t kPatience = 2;
    static constexpr std::uint32_t kRounds = 1000;
};

TEST(GallatinHerd, IsRefusedAtOnce) {
    expect_refusals_at_once<allocators::BasicGallatin<WatchedGallatinPolicy>,
                            WatchedGallatinPolicy>();
}

}  // namespace

TEST(GallatinStress, IsSound) {
    using A = StallingGallatin;
    // 16 segments, which are divided and taken apart all the time.
    stress<A, SerialMachine>({.warps = 8, .rounds = 1500, .pool = 16384, .largest = 200}, 4, false);
}

}  // namespace heapwood::tests
