/// @file
/// The circular allocators' core with threads stalled at its dangerous points: the conformance
/// suite, and tiny pools, in which headers die and come to life all the time. For the thread
/// sanitizer above all.
#include <atomic>
#include <chrono>
#include <thread>

#include "allocators/cmalloc.cuh"
#include "tests/allocators/conformance_tests.h"

namespace heapwood::tests {

namespace {

/// CMalloc whose threads now and then yield or sleep where that may hurt.
struct StallingPolicy : allocators::CMallocPolicy {
    static void pause() {
        static std::atomic<std::uint64_t> threads{0};
        thread_local Dice dice{++threads};
        const std::uint64_t roll = dice.below(4096);
        if (roll < 128) std::this_thread::yield();
        if (roll == 4095) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
};

}  // namespace

using StallingMalloc = allocators::circular::CircularMalloc<StallingPolicy>;
static_assert(allocators::Allocator<StallingMalloc>);

using StallingSubjects = ::testing::Types<Subject<StallingMalloc, SerialMachine>>;
INSTANTIATE_TYPED_TEST_SUITE_P(stalling_cmalloc, ConformanceTest, StallingSubjects);

using CircularStress = AllocatorTest<Subject<StallingMalloc, SerialMachine>>;

TEST_F(CircularStress, TinyPools) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {4096U, 20000U, 100000U}) {
        auto a = make(bytes, bytes / 4);
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

}  // namespace heapwood::tests
