/// @file
/// The circular allocators' core with threads stalled at its dangerous points: the conformance
/// suite, and tiny pools, in which headers die and come to life all the time. For the thread
/// sanitizer above all.

#include "allocators/circular.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/stalling.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

/// A policy whose threads now and then sleep where that may hurt, whose chunks merge both
/// ways, and are cut for others as often as there is room.
template <class Policy>
struct Stalling : Policy {
    static constexpr bool kBackward = true;
    static constexpr std::uint32_t kCrowd = 1;
    static constexpr std::uint32_t kGranulesPerRefuge = 16;
    static void pause() { stall_now_and_then(); }
};

template <class Policy>
using StallingMalloc = allocators::circular::CircularMalloc<Stalling<Policy>>;

using StallingCMalloc = StallingMalloc<allocators::CMallocPolicy>;
using StallingCFMMalloc = StallingMalloc<allocators::CFMMallocPolicy>;
[[maybe_unused]] const bool circular_variants_are_enlisted =
    enlist<StallingCMalloc, SerialMachine>("stalling_cmalloc") &&
    enlist<StallingCFMMalloc, SerialMachine>("stalling_cfmmalloc");

}  // namespace

using StallingSubjects = ::testing::Types<Subject<StallingCMalloc, SerialMachine>,
                                          Subject<StallingCFMMalloc, SerialMachine>>;

template <class S>
class CircularStress : public AllocatorTest<S> {};
TYPED_TEST_SUITE(CircularStress, StallingSubjects);

TYPED_TEST(CircularStress, TinyPools) {
    using T = TestFixture;
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {4096U, 20000U, 100000U}) {
        auto a = T::make(bytes, bytes / 4);
        typename T::template Array<Block> slots(T::kThreads * T::kSlots);
        typename T::template Array<Tally> tally(T::kThreads);
        T::Machine::run(T::kWarps, ChurnBody<typename T::Ref>{
                                       a->ref(), slots.data(), T::kSlots, 5000, bytes / 8, seed,
                                       T::kMultiprocessors, tally.data(), nullptr});
        const Tally sum = T::expect_sound(tally);
        EXPECT_GT(sum.requests - sum.failed, sum.requests / 4);
        T::expect_pool_holds(*a, slots);
        T::release_shuffled(*a, slots, seed);
        T::expect_empty(*a);
        EXPECT_NE(T::request(*a, {a->pool_bytes()})[0].data, nullptr);
    }
}

}  // namespace heapwood::tests
