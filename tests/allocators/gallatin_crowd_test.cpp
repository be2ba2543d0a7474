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
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 40 && !HasFailure(); ++i) {
        const std::uint64_t pool = i % 3 == 0 ? 16384 : i % 3 == 1 ? 131072 : 4 << 20;
        const auto callers = static_cast<std::uint32_t>(1 + i % 7);
        World<Hooked, false> world({.bytes = pool, .multiprocessors = callers, .callers = callers},
                                   pool, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        SCOPED_TRACE(i);
        world.expect_all_free();
    }
    EXPECT_GT(interrupts, 10000U);
    EXPECT_GT(given, 10000U);
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

/// Sleeps where slices are drawn, blocks opened, and segments divided and taken apart. A request
/// has all patience: it is refused only if it is certain that there is nothing.
struct SleepyGallatinPolicy : GallatinPolicy {
    static constexpr std::uint32_t kRounds = ~0U;
    static void pause() {
        thread_local Dice dice{std::hash<std::thread::id>()(std::this_thread::get_id())};
        if (dice.below(16) == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
};

/// Threads that need all of the pool together, all of one class, and stall again and again while
/// they hold a block that others could be given slices of.
TEST(GallatinHerd, IsServedWhileThereIsRoom) {
    constexpr std::uint64_t kPool = 32768;
    constexpr std::uint64_t kThreads = 16;
    for (const std::uint64_t bytes : {64U, 200U, 512U, 1024U}) {
        const allocators::BasicGallatin<SleepyGallatinPolicy> pool(PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        const std::uint64_t each = kPool / ref.granted_bytes(&pool, bytes) / kThreads;
        for (unsigned round = 0; round < 3; ++round) {
            std::atomic<std::uint64_t> refused{0};
            std::vector<std::thread> threads;
            std::vector<std::vector<void*>> blocks(kThreads);
            for (std::uint32_t t = 0; t < kThreads; ++t) {
                threads.emplace_back([&, t] {
                    for (std::uint64_t i = 0; i < each; ++i) {
                        blocks[t].push_back(ref.allocate({t, t}, bytes));
                        if (blocks[t].back() == nullptr) refused.fetch_add(1);
                    }
                });
            }
            for (std::thread& t : threads) t.join();
            EXPECT_EQ(refused.load(), 0U) << bytes << " bytes";
            for (const auto& some : blocks) {
                for (void* p : some) ref.deallocate({}, p, bytes);
            }
        }
        EXPECT_NE(ref.allocate({}, pool.pool_bytes()), nullptr);
    }
}

/// Calls something at every pause, but not within that call; counts all pauses.
struct WatchedGallatinPolicy : GallatinPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static constexpr std::uint32_t kRounds = 1000;
    static inline std::function<void()> then;
    static inline std::uint64_t pauses = 0;
    static void pause() {
        ++pauses;
        if (const std::function<void()> call = std::exchange(then, nullptr)) {
            call();
            then = call;
        }
    }
};

/// A request that searches a full pool, wherever it is stalled, does not hold up the refusal of
/// another one.
TEST(GallatinHerd, IsRefusedAtOnce) {
    using Policy = WatchedGallatinPolicy;
    unsigned others = 0;
    for (const std::uint64_t bytes : {16U, 64U, 512U, 2048U}) {
        const allocators::BasicGallatin<Policy> pool(
            PoolConfig{.bytes = 1U << 20, .multiprocessors = 4});
        const auto ref = pool.ref();
        while (ref.allocate({}, bytes) != nullptr) {
        }
        Policy::then = [&] {
            const std::uint64_t before = Policy::pauses;
            EXPECT_EQ(ref.allocate({1, 1}, bytes), nullptr);
            EXPECT_LT(Policy::pauses - before, 100U) << bytes << " bytes";
            ++others;
        };
        EXPECT_EQ(ref.allocate({}, bytes), nullptr);
        Policy::then = nullptr;
    }
    EXPECT_GT(others, 0U);
}

}  // namespace

TEST(GallatinStress, IsSound) {
    using A = StallingGallatin;
    // 16 segments, which are divided and taken apart all the time.
    stress<A, SerialMachine>({.warps = 8, .rounds = 1500, .pool = 16384, .largest = 200}, 4, false);
}

}  // namespace heapwood::tests
