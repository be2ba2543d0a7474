/// @file
/// The circular allocators' core under interleavings that threads seldom produce: every call is
/// stalled at its dangerous points while others run there from beginning to end, and are stalled
/// in turn. All in one thread, so that a seed reproduces a run, and a plain map knows the truth.
#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/circular.cuh"
#include "tests/allocators/bodies.h"
#include "tests/allocators/interleaving.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

/// A policy whose threads may be stalled.
template <class Policy>
struct Hooked : Policy {
    /// Whoever is stalled stays so until the caller returns: no patience would be enough.
    static constexpr std::uint32_t kPatience = 100;
    static constexpr std::uint32_t kPersistence = 100;
    /// Cuts for others as often as there is room.
    static constexpr std::uint32_t kCrowd = 1;
    static constexpr std::uint32_t kGranulesPerRefuge = 16;
    static void pause() { Interruptible::pause(); }
};

/// A policy whose chunks merge both ways.
template <class Policy>
struct Backward : Policy {
    static constexpr bool kBackward = true;
};

/// What would do most harm if it were read as a header.
std::uint32_t hostile_word(Dice& dice) {
    using namespace allocators::circular;
    const auto anywhere = static_cast<std::uint32_t>(dice.below(1024));
    switch (dice.below(4)) {
        case 0:
            return 0;
        case 1:
            return FusedHeaders::encode({kFree, anywhere});
        case 2:
            return FusedHeaders::encode({kUsed, anywhere});
        default:
            return static_cast<std::uint32_t>(dice.next());
    }
}

template <class Policy>
class CircularInterleaving : public ::testing::Test {};
using InterleavedPolicies =
    ::testing::Types<allocators::CMallocPolicy, allocators::CFMallocPolicy,
                     Backward<allocators::CMallocPolicy>, Backward<allocators::CFMMallocPolicy>>;
TYPED_TEST_SUITE(CircularInterleaving, InterleavedPolicies);

TYPED_TEST(CircularInterleaving, StalledCallsHarmNobody) {
    using HookedMalloc = allocators::circular::CircularMalloc<Hooked<TypeParam>>;
    static_assert(allocators::Allocator<HookedMalloc>);
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    for (std::uint64_t i = 0; i < 150 && !this->HasFailure(); ++i) {
        const std::uint64_t pool = i % 3 == 0 ? 4096 : i % 3 == 1 ? 10000 : 40000;
        World<HookedMalloc, true> world(
            {.bytes = pool, .largest_request = i % 2 == 0 ? 0 : pool / 4, .multiprocessors = 3},
            pool / 2, seed + i, hostile_word);
        world.run(2000);
        interrupts += world.interrupts();
        std::uint64_t bytes = 0;
        world.allocator().for_each_region([&](const allocators::Region& r) {
            EXPECT_FALSE(r.allocated);
            bytes += r.size;
        });
        EXPECT_EQ(bytes, world.allocator().pool_bytes());
        EXPECT_NE(world.allocator().ref().allocate({}, world.allocator().pool_bytes()), nullptr)
            << "the pool does not become whole again; world " << i;
    }
    EXPECT_GT(interrupts, 10000U);
}

}  // namespace

}  // namespace heapwood::tests
