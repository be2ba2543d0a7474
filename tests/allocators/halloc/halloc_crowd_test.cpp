/// @file
/// Halloc with calls that are stalled at the dangerous points of a slab's life, and with crowds.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "allocators/halloc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/roomy_first.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::Halloc;
using allocators::HallocPolicy;
using allocators::PoolConfig;

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
template <bool kRoomyFirstHere>
struct HookedPolicy : HallocPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static constexpr bool kRoomyFirst = kRoomyFirstHere;
    static void pause() { Interruptible::pause(); }
};

template <bool kRoomyFirst>
void interrupt_calls() {
    using Hooked = allocators::BasicHalloc<HookedPolicy<kRoomyFirst>>;
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
        const std::uint64_t pool = i % 3 == 0 ? 16384 : i % 3 == 1 ? 65536 : 262144;
        const auto callers = static_cast<std::uint32_t>(1 + i % 7);
        World<Hooked, false> world({.bytes = pool, .multiprocessors = callers, .callers = callers},
                                   pool, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        SCOPED_TRACE(i);
        world.expect_all_free();
    }
    EXPECT_GT(interrupts, 4000U);
    EXPECT_GT(given, 8000U);
}

TEST(HallocInterleaving, StalledCallsHarmNobody) {
    interrupt_calls<true>();
}
TEST(HallocInterleaving, NorDoTheyWithEmptySlabsFirst) {
    interrupt_calls<false>();
}

/// A head that is idle is closed, at whatever step a piece is drawn from it after all. All other
/// pieces, whose tickets nobody has drawn, can be had later, and none that there are not.
TEST(HallocInterleaving, AHeadIsClosedWithTicketsLeft) {
    using Hooked = allocators::BasicHalloc<HookedPolicy<true>>;
    unsigned closed = 0;
    for (unsigned step = 0; step < 30; ++step) {
        const Hooked pool(PoolConfig{.bytes = 32768});
        const auto ref = pool.ref();
        ref.deallocate({}, ref.allocate({}, 64), 64);
        unsigned steps = 0;
        void* drawn = nullptr;
        Interruptible::hook = [&] {
            if (steps++ == step) drawn = ref.allocate({}, 64);
        };
        void* all = ref.allocate({}, pool.pool_bytes());
        Interruptible::hook = nullptr;
        std::set<char*> pieces;
        if (drawn != nullptr) pieces.insert(static_cast<char*>(drawn));
        if (all == nullptr && drawn != nullptr) ++closed;
        ref.deallocate({}, all, pool.pool_bytes());
        while (auto* p = static_cast<char*>(ref.allocate({}, 64))) pieces.insert(p);
        EXPECT_GE(pieces.size(), 32768U / 64 * 3 / 4);
        const char* before = *pieces.begin() - 64;
        for (const char* p : pieces) {
            EXPECT_GE(p - before, 64) << "overlap; step " << step;
            before = p;
        }
    }
    EXPECT_GT(closed, 0U);
}

using StallingHalloc = allocators::BasicHalloc<Stalling<HallocPolicy>>;
/// Lanes always act for one another, in groups of one.
struct CrowdedPolicy : HallocPolicy {
    static bool is_crowded() { return true; }
};
using CrowdedHalloc = allocators::BasicHalloc<CrowdedPolicy>;

[[maybe_unused]] const bool halloc_variants_are_enlisted =
    enlist<StallingHalloc, SerialMachine>("stalling_halloc") &&
    enlist<CrowdedHalloc, SerialMachine>("crowded_halloc") &&
    enlist<RoomyFirst, SerialMachine>("roomy_first_halloc");

/// Sleeps where slabs are taken off their heads, opened and closed.
struct SleepyPolicy : HallocPolicy {
    static void pause() {
        thread_local Dice dice{std::hash<std::thread::id>()(std::this_thread::get_id())};
        if (dice.below(16) == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
};

/// Threads that need a sixteenth of the pool together, all of one class, and stall again and again
/// while they hold a slab, or the lock of a head.
TEST(HallocHerd, IsServedWhileThereIsRoom) {
    constexpr std::uint64_t kSlabs = 256;
    constexpr std::uint64_t kThreads = 16;
    const allocators::BasicHalloc<SleepyPolicy> pool(PoolConfig{.bytes = kSlabs * 1024});
    const auto ref = pool.ref();
    for (unsigned round = 0; round < 3; ++round) {
        std::atomic<std::uint64_t> refused{0};
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                std::vector<void*> pieces;
                for (std::uint64_t i = 0; i < kSlabs / kThreads; ++i) {
                    pieces.push_back(ref.allocate({t, t}, 64));
                    if (pieces.back() == nullptr) refused.fetch_add(1);
                }
                for (void* p : pieces) ref.deallocate({t, t}, p, 64);
            });
        }
        for (std::thread& t : threads) t.join();
        EXPECT_EQ(refused.load(), 0U);
    }
    EXPECT_NE(ref.allocate({}, pool.pool_bytes()), nullptr);
}

}  // namespace

TEST(HallocStress, IsSound) {
    using A = StallingHalloc;
    // 16 slabs, in which there are about 32 blocks: opened, closed and returned all the time.
    stress<A, SerialMachine>({.warps = 8, .rounds = 1500, .pool = 16384, .largest = 200}, 4, false);
}

}  // namespace heapwood::tests
