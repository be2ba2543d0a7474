/// @file
/// FlatterScatter with calls that are stalled at the dangerous points, and with crowds.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "allocators/flatterscatter.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/herd.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::BasicFlatterScatter;
using allocators::FlatterScatterPolicy;
using allocators::PoolConfig;

// ---------------------------------------------------------------- calls that are stalled

/// Whoever is stalled here stays so until the caller returns. Access blocks of 8 pages.
struct HookedFlatterPolicy : FlatterScatterPolicy {
    static constexpr std::uint32_t kBlockShift = 3;
    static constexpr std::uint32_t kRounds = 4;
    static void pause() { Interruptible::pause(); }
};
using HookedFlatter = BasicFlatterScatter<HookedFlatterPolicy>;

TEST(FlatterInterleaving, StalledCallsHarmNobody) {
    expect_stalls_harm_nobody<HookedFlatter>({16384, 65536, 4 << 20}, 300, 60);
}

/// A request that learned of a page enters it after others have made it something else, whichever
/// of its steps that comes before.
TEST(FlatterInterleaving, ALateRequestLeavesAPageAsItWas) {
    constexpr std::uint64_t kPool = 16384;
    unsigned late_ones = 0;
    for (unsigned comes = 0; comes < 6; ++comes) {
        for (const std::uint64_t others : {256U, 1024U, 4096U}) {
            const HookedFlatter pool(PoolConfig{.bytes = kPool});
            const auto ref = pool.ref();
            void* all = ref.allocate({}, kPool);
            ref.deallocate({}, ref.allocate({}, 64), 64);
            ref.deallocate({}, all, kPool);
            std::vector<char*> blocks;
            const auto take = [&] { return static_cast<char*>(ref.allocate({}, others)); };
            unsigned step = 0;
            Interruptible::hook = [&] {
                if (step++ != comes) return;
                const auto hook = std::exchange(Interruptible::hook, nullptr);
                while (char* p = take()) blocks.push_back(p);
                Interruptible::hook = hook;
            };
            auto* late = static_cast<char*>(ref.allocate({}, 64));
            Interruptible::hook = nullptr;
            late_ones += late == nullptr;
            for (const char* p : blocks) {
                EXPECT_TRUE(late == nullptr || late + 64 <= p || p + others <= late);
            }
            ref.deallocate({}, late, 64);
            while (char* p = take()) blocks.push_back(p);
            EXPECT_EQ(blocks.size(), kPool / others) << "a page is counted as in use";
            for (char* p : blocks) ref.deallocate({}, p, others);
            EXPECT_NE(ref.allocate({}, kPool), nullptr);
        }
    }
    EXPECT_GT(late_ones, 0U);
}

/// What a request of the same size hides, because it enters a page that is full a moment before a
/// chunk of it is freed, is found by the next one.
TEST(FlatterInterleaving, RoomThatAnotherHidIsFound) {
    constexpr std::uint64_t kPool = 16384;
    unsigned hidden = 0;
    for (unsigned comes = 0; comes < 8; ++comes) {
        const HookedFlatter pool(PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        std::vector<void*> blocks;
        while (void* p = ref.allocate({}, 1024)) blocks.push_back(p);
        ASSERT_EQ(blocks.size(), kPool / 1024);
        unsigned step = 0;
        void* other = nullptr;
        Interruptible::hook = [&] {
            if (step++ != comes) return;
            const auto hook = std::exchange(Interruptible::hook, nullptr);
            ref.deallocate({}, blocks.back(), 1024);
            other = ref.allocate({}, 1024);
            hidden += other == nullptr;
            Interruptible::hook = hook;
        };
        void* p = ref.allocate({}, 1024);
        Interruptible::hook = nullptr;
        if (step <= comes) continue;
        if (p == nullptr && other == nullptr) p = ref.allocate({}, 1024);
        EXPECT_TRUE((p == blocks.back()) != (other == blocks.back())) << comes;
        EXPECT_EQ(ref.allocate({}, 1024), nullptr);
    }
    EXPECT_GT(hidden, 0U);
}

/// Of the last idle page another makes something else, and lets it go again.
TEST(FlatterInterleaving, ARequestTriesAgainIfAnotherWasQuicker) {
    constexpr std::uint64_t kPool = 16384;
    for (unsigned comes = 0; comes < 6; ++comes) {
        const HookedFlatter pool(PoolConfig{.bytes = kPool});
        const auto ref = pool.ref();
        for (std::uint64_t i = 1; i < kPool / 1024; ++i) ref.allocate({}, 1024);
        unsigned step = 0;
        Interruptible::hook = [&] {
            if (step++ != comes) return;
            const auto hook = std::exchange(Interruptible::hook, nullptr);
            void* p = ref.allocate({}, 512);
            ref.deallocate({}, p, 512);
            Interruptible::hook = hook;
        };
        EXPECT_NE(ref.allocate({}, 64), nullptr) << comes;
        Interruptible::hook = nullptr;
    }
}

/// Looks at a word of bits twice, and enters twice.
struct UnluckyFlatterPolicy : HookedFlatterPolicy {
    static constexpr std::uint32_t kTries = 0;
    static constexpr std::uint32_t kRounds = 1;
};

/// Another always takes the very chunk, the only one, that a request is about to take, and frees
/// another one.
TEST(FlatterInterleaving, ARequestLeavesIfOthersAreQuickerAllTheTime) {
    constexpr std::uint64_t kPool = 16384;
    const BasicFlatterScatter<UnluckyFlatterPolicy> pool(PoolConfig{.bytes = kPool});
    const auto ref = pool.ref();
    for (std::uint64_t i = 1; i < kPool / 1024; ++i) ref.allocate({}, 1024);
    std::vector<void*> chunks;
    for (std::uint64_t i = 1; i < 1024 / 64; ++i) chunks.push_back(ref.allocate({}, 64));
    std::uint32_t steals = 0;
    Interruptible::hook = [&] {
        const auto hook = std::exchange(Interruptible::hook, nullptr);
        void* const given = chunks[++steals % chunks.size()];
        void* taken = given;
        for (std::uint32_t warp = 0; taken == given && warp < 1000; ++warp) {
            ref.deallocate({}, taken, 64);
            taken = ref.allocate({0, warp}, 64);
        }
        EXPECT_NE(taken, given);
        chunks[steals % chunks.size()] = taken;
        Interruptible::hook = hook;
    };
    EXPECT_EQ(ref.allocate({}, 64), nullptr);
    Interruptible::hook = nullptr;
    EXPECT_GT(steals, 2U);
    EXPECT_NE(ref.allocate({}, 64), nullptr);
    EXPECT_EQ(ref.allocate({}, 64), nullptr);
    for (void* p : chunks) ref.deallocate({}, p, 64);
    EXPECT_EQ(ref.allocate({}, 1024), nullptr) << "one chunk is in use";
    for (std::uint64_t i = 1; i < 1024 / 64; ++i) {
        EXPECT_NE(ref.allocate({}, 64), nullptr) << "the page is counted as more in use";
    }
}

using StallingFlatter = BasicFlatterScatter<Stalling<FlatterScatterPolicy>>;
/// Lanes always act for one another, in groups of one; access blocks of 8 pages.
struct CrowdedFlatterPolicy : FlatterScatterPolicy {
    static constexpr std::uint32_t kBlockShift = 3;
    static bool is_crowded() { return true; }
};

[[maybe_unused]] const bool flatter_variants_are_enlisted =
    enlist<StallingFlatter, SerialMachine>("stalling_flatterscatter") &&
    enlist<BasicFlatterScatter<CrowdedFlatterPolicy>, SerialMachine>("crowded_flatterscatter");

// ---------------------------------------------------------------- crowds

/// Access blocks of 8 pages.
struct SleepyFlatterPolicy : Sleepy<FlatterScatterPolicy> {
    static constexpr std::uint32_t kBlockShift = 3;
};

/// Calls `body` by so many threads at once, each with its number.
void by_threads(std::uint32_t count, const std::function<void(std::uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < count; ++t) threads.emplace_back(body, t);
    for (std::thread& t : threads) t.join();
}

TEST(FlatterHerd, IsServedWhileThereIsRoom) {
    expect_all_served<BasicFlatterScatter<SleepyFlatterPolicy>>({64, 200, 1024, 2048});
}

/// Counts the pauses of each thread.
struct CountingFlatterPolicy : FlatterScatterPolicy {
    static inline thread_local std::uint64_t pauses = 0;
    static void pause() { ++pauses; }
};

/// The published test that the original fails: 100,000 requests of 8 KiB. They need 782 MiB.
TEST(FlatterHerd, OfHundredThousandIsServedInFewSteps) {
    constexpr std::uint64_t kBytes = 8192;
    constexpr std::uint32_t kThreads = 16;
    const BasicFlatterScatter<CountingFlatterPolicy> pool(
        PoolConfig{.bytes = std::uint64_t{1} << 30, .multiprocessors = 132});
    const auto ref = pool.ref();
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> pauses{0};
    std::vector<std::vector<void*>> blocks(kThreads);
    by_threads(kThreads, [&](std::uint32_t t) {
        for (std::uint32_t i = 0; i < 100'000 / kThreads; ++i) {
            blocks[t].push_back(ref.allocate({i % 132, t}, kBytes));
            if (blocks[t].back() == nullptr) refused.fetch_add(1);
        }
        pauses.fetch_add(CountingFlatterPolicy::pauses);
    });
    EXPECT_EQ(refused.load(), 0U);
    EXPECT_LT(pauses.load(), 8 * 100'000U);
    for (const auto& some : blocks) {
        for (void* p : some) ref.deallocate({}, p, kBytes);
    }
    EXPECT_NE(ref.allocate({}, pool.pool_bytes()), nullptr);
}

TEST(FlatterHerd, IsRefusedAtOnce) {
    using Policy = Watched<FlatterScatterPolicy>;
    expect_refusals_at_once<BasicFlatterScatter<Policy>, Policy>();
}

}  // namespace

TEST(FlatterStress, IsSound) {
    // 16 pages, which are claimed, entered late and left all the time.
    stress<StallingFlatter, SerialMachine>(
        {.warps = 8, .rounds = 1500, .pool = 16384, .largest = 300}, 4, false);
}

}  // namespace heapwood::tests
