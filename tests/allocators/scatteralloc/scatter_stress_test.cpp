/// @file
/// ScatterAlloc with calls that interrupt one another, and with threads that are stalled where it
/// hurts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "allocators/scatteralloc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/paged.h"
#include "tests/allocators/stalling.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::PoolConfig;
using allocators::Region;
using allocators::ScatterAlloc;

/// A policy whose threads now and then sleep where that may hurt.
struct StallingScatter : allocators::ScatterPolicy {
    static void pause() { stall_now_and_then(); }
};
using StallingAlloc = allocators::BasicScatterAlloc<StallingScatter>;

/// A with larger pages.
template <class A, std::uint64_t kPageBytes>
class Paged : public A {
public:
    explicit Paged(PoolConfig config) : A((config.choices = paged(kPageBytes), config)) {}
};

[[maybe_unused]] const bool scatter_variants_are_enlisted =
    enlist<Paged<ScatterAlloc, 8192>, SerialMachine>("scatteralloc_8192") &&
    enlist<Paged<StallingAlloc, 16384>, SerialMachine>("stalling_scatteralloc_16384") &&
    enlist<StallingAlloc, SerialMachine>("stalling_scatteralloc");

/// A policy whose calls interrupt one another.
struct InterruptedScatter : Interruptible {
    /// Whoever is interrupted stays so until the interrupting call returns.
    static constexpr std::uint32_t kPatience = 2;
};

using Interrupted = allocators::BasicScatterAlloc<InterruptedScatter>;

/// Runs `call`, and `scripts[n]` at its n-th point where others may come between, from 0.
void interrupt(const std::vector<std::function<void()>>& scripts,
               const std::function<void()>& call) {
    std::size_t point = 0;
    bool interrupted = false;
    Interruptible::hook = [&] {
        if (interrupted || point == scripts.size()) return;
        interrupted = true;
        scripts[point++]();
        interrupted = false;
    };
    call();
    Interruptible::hook = nullptr;
    ASSERT_EQ(point, scripts.size()) << "there are not so many points";
}
void go_on() {}

/// A request that learned of a page before it was closed sets a bit in vain, and somebody opens the
/// page before the bit is cleared.
TEST(ScatterInterruptions, ALateRequestTakesNobodysChunk) {
    constexpr std::uint64_t kPool = 32768;
    for (const std::uint64_t bytes : {64, 1024}) {
        Interrupted pool({.bytes = kPool});
        const auto ref = pool.ref();
        ref.deallocate({}, ref.allocate({}, bytes), bytes);
        std::vector<void*> blocks;
        const auto close = [&] {
            void* all = ref.allocate({}, kPool);
            ASSERT_NE(all, nullptr) << "the page is in the list";
            ref.deallocate({}, all, kPool);
        };
        const auto open = [&] {
            for (unsigned i = 0; i < 4; ++i) blocks.push_back(ref.allocate({}, bytes));
        };
        interrupt({close, open}, [&] { blocks.push_back(ref.allocate({}, bytes)); });
        // If a chunk's bit was lost or cleared, the chunk is given again.
        for (void* p = ref.allocate({}, bytes); p != nullptr; p = ref.allocate({}, bytes)) {
            blocks.push_back(p);
        }
        EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
        EXPECT_EQ(blocks.size(), kPool / bytes) << "no chunk is lost";
        for (void* p : blocks) ref.deallocate({}, p, bytes);
        EXPECT_NE(ref.allocate({}, kPool), nullptr);
    }
}

/// A page that has been left is entered before it is closed.
TEST(ScatterInterruptions, APageIsNotClosedUnderANewcomer) {
    constexpr std::uint64_t kPool = 32768;
    Interrupted pool({.bytes = kPool});
    const auto ref = pool.ref();
    // The slot's page is the second, and has room.
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 3; ++i) blocks.push_back(ref.allocate({}, 2048));
    ref.deallocate({}, blocks[1], 2048);
    std::vector<void*> others;
    const auto enter = [&] {
        for (unsigned i = 0; i < 2; ++i) others.push_back(ref.allocate({}, 2048));
    };
    // Before it leaves, before it looks at the page, and before it closes it.
    interrupt({go_on, go_on, enter}, [&] { ref.deallocate({}, blocks[0], 2048); });
    const auto first_page = [&](const void* p) {
        const auto page = reinterpret_cast<std::uintptr_t>(blocks[0]) / 4096;
        return reinterpret_cast<std::uintptr_t>(p) / 4096 == page;
    };
    ASSERT_EQ(std::ranges::count_if(others, first_page), 1);
    for (void* p = ref.allocate({}, 4096); p != nullptr; p = ref.allocate({}, 4096)) {
        EXPECT_FALSE(first_page(p)) << "a page in use";
    }
}

TEST(ScatterInterruptions, HarmNobody) {
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
        const std::uint64_t page = 4096U << i % 3;
        const PoolConfig config{.bytes = page * (i % 2 == 0 ? 8 : 61),
                                .callers = static_cast<std::uint32_t>(1 + i % 5),
                                .choices = paged(page)};
        // Mostly chunks, now and then a run of pages.
        World<Interrupted, false> world(config, i % 4 == 0 ? 64 : page + page / 2, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        world.allocator().for_each_region(
            [&](const Region& r) { EXPECT_FALSE(r.allocated) << "world " << i; });
        EXPECT_NE(world.allocator().ref().allocate({}, config.bytes), nullptr)
            << "the pool does not become whole again; world " << i;
    }
    EXPECT_GT(interrupts, 10000U);
    EXPECT_GT(given, 10000U);
}

using ScatterStress = AllocatorTest<Subject<StallingAlloc, SerialMachine>>;

/// Small pools, in which pages are opened and closed all the time.
TEST_F(ScatterStress, TinyPools) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {32768U, 65536U, 262144U}) {
        for (const std::uint64_t largest : {64U, 2048U, 6000U}) {
            auto a = make(bytes);
            Array<Block> slots(kThreads * kSlots);
            Array<Tally> tally(kThreads);
            Machine::run(kWarps, ChurnBody<Ref>{a->ref(), slots.data(), kSlots, 2000, largest, seed,
                                                kMultiprocessors, tally.data(), nullptr});
            const Tally sum = expect_sound(tally);
            EXPECT_GT(sum.requests - sum.failed, sum.requests / 4);
            expect_pool_holds(*a, {slots.begin(), slots.end()});
            release_shuffled(*a, {slots.begin(), slots.end()}, seed);
            expect_empty(*a);
            EXPECT_NE(request(*a, {a->pool_bytes()})[0].data, nullptr);
        }
    }
}

}  // namespace

}  // namespace heapwood::tests
