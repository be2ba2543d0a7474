/// @file
/// Pools that grow at their end while threads use them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "allocators/cambium.cuh"
#include "allocators/heap.cuh"
#include "allocators/heap/extending.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/memory/address_range.h"
#include "tests/allocators/heap/growth_checks.h"
#include "tests/allocators/subjects.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::AddressRange;
using allocators::Cambium;
using allocators::Extending;
using allocators::Place;
using allocators::PoolConfig;

using Extensible = Cambium::Extensible;
using Pool = Extending<Extensible>;

constexpr std::uint64_t kMiB = 1 << 20;

static_assert(std::is_same_v<allocators::GrowingForBuilds<Cambium>, Pool>);
static_assert(std::is_same_v<allocators::GrowingForBuilds<allocators::AtomicMalloc>,
                             allocators::Growing<allocators::AtomicMalloc>>);

/// A pool that begins with an eighth of its bytes, where that is enough, and grows by itself to all
/// of them, for the conformance suite.
class SelfExtended : public Pool {
public:
    explicit SelfExtended(const PoolConfig& config) : Pool(begin(config)) {
        grow_automatically(
            {.step = config.bytes / 8, .most = config.bytes, .patience = kLongPatience});
        most_ = config.bytes;
    }
    static constexpr allocators::Traits traits() {
        allocators::Traits traits = Pool::traits();
        traits.walkable = false;  // the walk ends where the pool does at the time
        return traits;
    }
    template <class Visitor>
    void for_each_region(Visitor&&) const {}

    /// That it may have.
    std::uint64_t pool_bytes() const { return most_; }

private:
    static PoolConfig begin(PoolConfig config) {
        if (config.bytes / 8 >= traits().smallest_pool) config.bytes /= 8;
        return config;
    }

    std::uint64_t most_ = 0;
};

[[maybe_unused]] const bool enlisted =
    enlist<SelfExtended, SerialMachine>("cambium_extending") &&
    enlist<SelfExtended, LockstepMachine>("cambium_extending_lanes");

TEST(Extending, UnderThreads) {
    check_growth_under_threads<Extensible, SerialMachine, Pool>();
}
TEST(Extending, OfLanesOfWarps) {
    check_growth_under_threads<Extensible, LockstepMachine, Pool>();
}
TEST(Extending, ToItsLimit) {
    check_limits_of_growth<Extensible, Pool>();
}

/// Takes blocks of some sizes until the pool refuses one, frees them all in any order, and returns
/// the bytes that it got.
std::uint64_t take_all(const allocators::HeapRef<Pool>& heap, std::mt19937_64& dice) {
    std::vector<void*> blocks;
    std::uint64_t bytes = 0;
    for (;;) {
        const std::uint64_t size = dice() % 6000 + 1;
        void* const block = heap.malloc(size);
        if (block == nullptr) break;
        blocks.push_back(block);
        bytes += heap.usable_size(block);
    }
    std::shuffle(blocks.begin(), blocks.end(), dice);
    for (void* const block : blocks) heap.free(block);
    return bytes;
}

TEST(Extending, UsesAllThatItHasGrownByAtOnceAndAfterItHasSettled) {
    std::mt19937_64 dice(test_seed());
    for (unsigned n = 0; n < 6; ++n) {
        const std::uint64_t begin = (64 << 10) + dice() % (1 << 20);
        const std::uint64_t most = 4 * kMiB + dice() % (8 * kMiB);
        allocators::Heap<Pool> owner({.bytes = begin, .place = Place::host, .callers = 4});
        Pool& pool = owner.allocator();
        pool.grow_automatically(
            {.step = 1 + dice() % kMiB, .most = most, .patience = kLongPatience});
        const std::uint64_t first = pool.pool_bytes();
        EXPECT_LE(first, begin);
        const std::uint64_t got = take_all(owner.ref(), dice);
        const std::uint32_t parts = pool.part_count();
        EXPECT_GE(parts, 2U);
        EXPECT_LE(pool.pool_bytes(), most);
        EXPECT_GT(pool.pool_bytes(), most - 64 * 1024);
        EXPECT_GT(got, most * 3 / 4);
        EXPECT_EQ(owner.use().allocated_bytes, 0U);
        // Reset, it begins with what it began with, and gets the rest without another part.
        owner.reset();
        EXPECT_LE(owner.use().free_bytes, begin);
        EXPECT_GT(take_all(owner.ref(), dice), most * 3 / 4);
        EXPECT_EQ(pool.part_count(), parts);
        // Settled, it has all of it from the beginning, in one piece.
        pool.settle_growth();
        owner.reset();
        EXPECT_GT(owner.use().free_bytes, most - 256 * 1024);
        EXPECT_EQ(owner.use().allocated_bytes, 0U);
        const auto heap = owner.ref();
        void* const large = heap.malloc(most / 2 - 300 * 1024);
        EXPECT_NE(large, nullptr);
        heap.free(large);
        EXPECT_GT(take_all(heap, dice), most * 3 / 4);
        EXPECT_EQ(pool.part_count(), parts);
        EXPECT_EQ(owner.use().allocated_bytes, 0U);
    }
}

TEST(Extending, IsAPoolLikeAnyOtherUntilItMayGrow) {
    allocators::Heap<Pool> owner({.bytes = kMiB, .place = Place::host});
    EXPECT_EQ(owner.ref().malloc(kMiB), nullptr);
    EXPECT_NE(owner.ref().malloc(kMiB / 4), nullptr);
    EXPECT_EQ(owner.allocator().part_count(), 1U);
    EXPECT_EQ(owner.allocator().growth_refusal(), "");
}

/// A pool of 20 times the largest request looks at all that it has before it grows. A smaller one
/// grows at once: it will have to.
TEST(Extending, LooksEverywhereBeforeItGrowsIfItIsRoomy) {
    constexpr std::uint64_t kLargest = 100'000;  // 20 times it are no whole blocks
    for (const std::uint64_t times : {20, 2}) {
        Pool pool({.place = Place::host,
                   .bytes = times * kLargest,
                   .largest_request = kLargest,
                   .callers = 1});
        pool.grow_automatically(
            {.step = kLargest, .most = 200 * kLargest, .patience = kLongPatience});
        const auto ref = pool.ref();
        const allocators::Context caller{0, 0};
        // It leaves a block open of which nothing is in use.
        ref.deallocate(caller, ref.allocate(caller, 16), 16);
        const std::uint64_t whole = pool.pool_bytes();
        void* const block = ref.allocate(caller, whole);
        EXPECT_NE(block, nullptr);
        EXPECT_EQ(pool.part_count(), times == 20 ? 1U : 2U) << times;
        ref.deallocate(caller, block, whole);
    }
}

TEST(Extending, GoesOnAfterAMove) {
    allocators::Heap<Pool> first({.bytes = kMiB, .place = Place::host});
    first.allocator().grow_automatically(
        {.step = kMiB, .most = 64 * kMiB, .patience = kLongPatience});
    const auto heap = first.ref();
    allocators::Heap<Pool> owner(std::move(first));
    Pool moved(std::move(owner.allocator()));
    void* const block = heap.malloc(5 * kMiB);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(moved.part_count(), 2U);
    EXPECT_EQ(heap.malloc(64 * kMiB), nullptr);
    EXPECT_NE(moved.growth_refusal().find("may have 67108864 bytes"), std::string::npos)
        << moved.growth_refusal();
    heap.free(block);
}

TEST(AddressRange, IsForOneBuffer) {
    AddressRange range(Place::host, 1000, nullptr);
    range.map_to(500);
    const allocators::SourceScope scope(range);
    EXPECT_THROW(allocators::Buffer(Place::host, 1001), allocators::BufferError);
    const allocators::Buffer buffer(Place::host, 1000);
    EXPECT_NE(buffer.data(), nullptr);
    EXPECT_THROW(allocators::Buffer(Place::host, 1), allocators::BufferError);
}

}  // namespace
}  // namespace heapwood::tests
