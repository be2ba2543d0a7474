/// @file
/// The buddy allocator with calls that are stalled at its dangerous points. First in one thread,
/// where every stalled call is interrupted by others, from beginning to end, which are stalled in
/// turn: a seed reproduces a run, and a plain map knows the truth. Then in many, for the thread
/// sanitizer above all.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "allocators/buddy.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/stalling.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct Hooked : Interruptible {
    static constexpr std::uint32_t kPatience = 2;
};
using HookedBuddy = allocators::BasicBuddy<Hooked>;

TEST(BuddyInterleaving, StalledCallsHarmNobody) {
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 150 && !HasFailure(); ++i) {
        const std::uint64_t pool = i % 3 == 0 ? 4096 : i % 3 == 1 ? 16384 : 65536;
        World<HookedBuddy, true> world(
            {.bytes = pool, .callers = static_cast<std::uint32_t>(1 + i % 7)}, pool, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        unsigned regions = 0;
        world.allocator().for_each_region([&](const allocators::Region& r) {
            EXPECT_FALSE(r.allocated);
            ++regions;
        });
        EXPECT_EQ(regions, 1U) << "the pool does not become whole again; world " << i;
        EXPECT_NE(world.allocator().ref().allocate({}, pool), nullptr) << "world " << i;
    }
    EXPECT_GT(interrupts, 10000U);
    EXPECT_GT(given, 50000U);
}

/// A policy that stops one thread at its n-th step, and in which requests have all patience.
struct Stopping {
    static constexpr std::uint32_t kPatience = ~0U;
    static inline thread_local unsigned steps_left = 0;
    static inline std::function<void()> stop;
    static void pause() {
        if (steps_left > 0 && --steps_left == 0) stop();
    }
};

TEST(BuddyMoves, AreNotTakenForAFullPool) {
    using StoppingBuddy = allocators::BasicBuddy<Stopping>;
    for (unsigned step = 1; step <= 3; ++step) {
        StoppingBuddy a({.bytes = 4096, .callers = 4});
        const auto r = a.ref();
        for (int i = 0; i < 7; ++i) ASSERT_NE(r.allocate({}, 512), nullptr);
        // One unit of 512 bytes is left. While the first request has it in its hands, nobody sees
        // it; but the second knows that something is under way.
        std::atomic<bool> stopped{false};
        std::atomic<bool> asking{false};
        Stopping::stop = [&] {
            stopped = true;
            while (!asking) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        };
        void* first = nullptr;
        std::thread splitter([&] {
            Stopping::steps_left = step;
            first = r.allocate({0, 1}, 16);
        });
        while (!stopped) std::this_thread::yield();
        asking = true;
        void* second = r.allocate({0, 2}, 16);
        splitter.join();
        EXPECT_NE(first, nullptr) << "stopped at step " << step;
        EXPECT_NE(second, nullptr) << "stopped at step " << step;
        EXPECT_NE(first, second);
    }
}

TEST(Buddy, MergesBuddiesFreedAtTheSameTime) {
    // Halves of the pool, within one word; halves of units that are words of their own, which have
    // to be merged by whoever asks next; and both threads ask at once.
    allocators::Buddy a({.bytes = 32768});
    const auto r = a.ref();
    auto* base = static_cast<char*>(r.allocate({}, a.pool_bytes()));
    r.deallocate({}, base, a.pool_bytes());
    std::array<void*, 2> block{};
    std::array<std::uint64_t, 2> got{};
    constexpr std::array<std::uint64_t, 5> kSizes{16384, 8192, 512, 256, 16};
    constexpr unsigned kRounds = 20000;
    std::barrier together(2);
    std::uint64_t lost = 0;
    std::uint64_t none = 0;
    std::uint64_t strangers = 0;
    const auto body = [&](unsigned t) {
        for (unsigned i = 0; i < kRounds; ++i) {
            const std::uint64_t size = kSizes[i % kSizes.size()];
            if (t == 0) {
                for (void*& half : block) half = r.allocate({}, size);
                lost += block[0] == nullptr || block[1] == nullptr;
                const auto offset = [&](void* p) { return static_cast<char*>(p) - base; };
                strangers +=
                    (offset(block[0]) ^ offset(block[1])) != static_cast<std::ptrdiff_t>(size);
            }
            together.arrive_and_wait();
            r.deallocate({}, block[t], size);
            // One of the two calls may miss what the other has in its hands, but not both.
            void* whole = r.allocate({}, a.pool_bytes());
            got[t] = whole != nullptr;
            if (whole != nullptr) r.deallocate({}, whole, a.pool_bytes());
            together.arrive_and_wait();
            if (t == 0) {
                none += got[0] + got[1] == 0;
                whole = r.allocate({}, a.pool_bytes());
                lost += whole == nullptr;
                if (whole != nullptr) r.deallocate({}, whole, a.pool_bytes());
            }
        }
    };
    std::thread other(body, 1U);
    body(0);
    other.join();
    EXPECT_EQ(lost, 0U);
    EXPECT_LT(strangers, kRounds / 10) << "mostly they are buddies";
    EXPECT_EQ(none, 0U) << "of " << kRounds;
}

/// A policy whose threads now and then sleep where that may hurt.
struct Stalling : allocators::BuddyPolicy {
    static void pause() { stall_now_and_then(); }
};
using StallingBuddy = allocators::BasicBuddy<Stalling>;

[[maybe_unused]] const bool buddy_variants_are_enlisted =
    enlist<StallingBuddy, SerialMachine>("stalling_buddy");

using BuddyStress = AllocatorTest<Subject<StallingBuddy, SerialMachine>>;

TEST_F(BuddyStress, TinyPools) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {4096U, 16384U, 131072U}) {
        auto a = make(bytes);
        Array<Block> slots(kThreads * kSlots);
        Array<Tally> tally(kThreads);
        Machine::run(kWarps, ChurnBody<Ref>{a->ref(), slots.data(), kSlots, 5000, bytes / 8, seed,
                                            kMultiprocessors, tally.data(), nullptr});
        const Tally sum = expect_sound(tally);
        EXPECT_GT(sum.requests - sum.failed, sum.requests / 4);
        expect_pool_holds(*a, slots);
        release_shuffled(*a, slots, seed);
        expect_empty(*a);
        EXPECT_NE(request(*a, {a->pool_bytes()})[0].data, nullptr);
    }
}

}  // namespace

}  // namespace heapwood::tests
