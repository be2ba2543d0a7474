/// @file
/// What sets XMalloc apart: superblocks and single blocks, and blocks in queues that return to the
/// pool when it is full. xmalloc_fifo_test.cpp has the queues.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

#include "allocators/measure/adaptor.h"
#include "allocators/xmalloc.cuh"
#include "tests/allocators/cached.h"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::PoolConfig;
using allocators::Region;
using allocators::XMalloc;
using allocators::XMallocPolicy;

// ---------------------------------------------------------------- blocks

std::uint64_t allocated(const XMalloc& pool) {
    std::uint64_t bytes = 0;
    pool.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
    return bytes;
}

TEST(XMalloc, TakesASuperblockOf16Blocks) {
    const XMalloc pool(PoolConfig{.bytes = 64 << 20});
    const auto ref = pool.ref();
    std::vector<char*> blocks;
    for (unsigned i = 0; i < 17; ++i) {
        blocks.push_back(static_cast<char*>(ref.allocate({}, 1 + i * 30)));
        ASSERT_NE(blocks[i], nullptr);
        if (i == 16) break;
        EXPECT_EQ(blocks[i], blocks[0] + 512 * i);
    }
    EXPECT_EQ(allocated(pool), 17U * 512) << "those in the queue are free";
    // First in, first out: the 15 left in the queue, then what has been freed, in order.
    ref.deallocate({}, blocks[3], 91);
    ref.deallocate({}, blocks[1], 31);
    std::vector<char*> later;
    for (unsigned i = 0; i < 17; ++i) later.push_back(static_cast<char*>(ref.allocate({}, 500)));
    EXPECT_EQ(later[15], blocks[3]);
    EXPECT_EQ(later[16], blocks[1]);
}

TEST(XMalloc, GivesEachWarpAQueueOfItsOwn) {
    // Whatever one frees, another of the same multiprocessor does not get; but one that has the
    // same queue does.
    constexpr std::uint32_t kWarps = 8;
    const XMalloc pool(PoolConfig{.bytes = 64 << 20, .callers = kWarps});
    const auto ref = pool.ref();
    std::set<void*> freed;
    for (unsigned i = 0; i < 16; ++i) freed.insert(ref.allocate({0, 0}, 512));
    for (void* p : freed) ref.deallocate({0, 0}, p, 512);
    // As many as a superblock has: then neighbours' queues, of which this is none, are looked into.
    for (unsigned i = 0; i < 16; ++i) EXPECT_FALSE(freed.contains(ref.allocate({0, 3}, 512)));
    EXPECT_TRUE(freed.contains(ref.allocate({0, kWarps}, 512)));
}

TEST(XMalloc, TakesSingleBlocksWithoutSuperblocks) {
    const XMalloc pool(PoolConfig{.bytes = 64 << 20, .choices = {{"superblocks", "off"}}});
    const auto ref = pool.ref();
    std::uint64_t regions = 0;
    void* p = ref.allocate({}, 8192);
    pool.for_each_region([&](const Region& r) { regions += r.size == 8192 ? 1 : 0; });
    EXPECT_EQ(regions, 1U) << "as with superblocks there would be 16";
    EXPECT_EQ(allocated(pool), 8192U);
    ref.deallocate({}, p, 8192);
    EXPECT_EQ(ref.allocate({}, 4097), p);
}

TEST(XMalloc, RoundsToFiveSizesAndHandsOnWhatIsLarger) {
    const XMalloc pool(PoolConfig{.bytes = 64 << 20});
    const auto ref = pool.ref();
    for (std::uint64_t bytes = 1; bytes <= 8192; ++bytes) {
        void* p = ref.allocate({}, bytes);
        const std::uint64_t size = std::max<std::uint64_t>(512, std::bit_ceil(bytes));
        ASSERT_EQ(ref.granted_bytes(p, bytes), size) << bytes;
        ref.deallocate({}, p, bytes);
    }
    void* p = ref.allocate({}, 8193);
    EXPECT_EQ(ref.granted_bytes(p, 8193), 8192U + 512);
    ref.deallocate({}, p, 8193);
}

TEST(XMalloc, EmptiesItsQueuesWhenThePoolIsFull) {
    const XMalloc pool(PoolConfig{.bytes = 8 << 20, .multiprocessors = 4});
    const auto ref = pool.ref();
    for (std::uint32_t i = 0; i < 4; ++i) {
        for (std::size_t bytes = 512; bytes <= 8192; bytes *= 2) {
            ref.deallocate({i, i}, ref.allocate({i, i}, bytes), bytes);
        }
    }
    EXPECT_EQ(allocated(pool), 0U);
    void* all = ref.allocate({}, pool.pool_bytes());
    EXPECT_NE(all, nullptr);
    EXPECT_EQ(ref.allocate({}, 1), nullptr);
    ref.deallocate({}, all, pool.pool_bytes());

    // All blocks of one size; freed, they serve another one.
    std::vector<void*> blocks;
    while (void* p = ref.allocate({1, 1}, 512)) blocks.push_back(p);
    EXPECT_GE(blocks.size(), (8U << 20) / 512 * 9 / 10);
    for (void* p : blocks) ref.deallocate({2, 2}, p, 512);
    EXPECT_EQ(allocated(pool), 0U);
    all = ref.allocate({}, pool.pool_bytes());
    EXPECT_NE(all, nullptr);
    ref.deallocate({}, all, pool.pool_bytes());
}

/// With as many multiprocessors as a GPU has, of which each has a share of the list.
TEST(XMalloc, HandsThePoolOutToTheLastBlock) {
    constexpr std::uint64_t kPool = 16 << 20;
    for (const std::size_t bytes : {512U, 1024U, 2048U, 4096U, 8192U}) {
        const XMalloc pool(
            PoolConfig{.bytes = kPool, .largest_request = bytes, .multiprocessors = 132});
        const auto ref = pool.ref();
        std::uint64_t given = 0;
        Dice dice{bytes};
        while (ref.allocate({static_cast<std::uint32_t>(dice.below(132)),
                             static_cast<std::uint32_t>(dice.below(10000))},
                            bytes) != nullptr) {
            given += bytes;
        }
        EXPECT_GE(given, kPool * 99 / 100) << bytes;
    }
}

TEST(XMalloc, ReturnsABlockWhoseQueueIsFull) {
    const XMalloc pool(PoolConfig{.bytes = 64 << 20});
    const auto ref = pool.ref();
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 1600; ++i) blocks.push_back(ref.allocate({}, 512));
    for (void* p : blocks) ref.deallocate({}, p, 512);
    std::uint64_t blocks_free = 0;
    pool.for_each_region([&](const Region& r) {
        EXPECT_FALSE(r.allocated);
        blocks_free += r.size == 512 ? 1 : 0;
    });
    EXPECT_LE(blocks_free, 256U) << "those in the queue; the others have become one";
    EXPECT_GE(blocks_free, 250U);
}

TEST(XMalloc, KeepsForItsCallerWhatItHasFreedLast) {
    const XMalloc pool(PoolConfig{.bytes = 64 << 20});
    const auto ref = pool.ref();
    allocators::CallerCache cache{};
    const allocators::Context caller{0, 0, &cache};
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 3; ++i) blocks.push_back(ref.allocate(caller, 8192));
    for (void* p : blocks) ref.deallocate(caller, p, 8192);
    EXPECT_EQ(ref.allocate(caller, 4097), blocks[1]);
    EXPECT_EQ(ref.allocate(caller, 8192), blocks[0]);
    ref.deallocate(caller, blocks[0], 8192);
    EXPECT_EQ(allocated(pool), 2U * 8192);
    ref.deallocate(caller, blocks[1], 8192);
    flush(ref, caller);
    EXPECT_EQ(allocated(pool), 0U);
}

/// Of a small pool the queues have so little that a superblock of 16 would not fit.
TEST(XMalloc, TakesNoMoreBlocksThanTheQueueHolds) {
    const XMalloc pool(PoolConfig{.bytes = 1 << 20, .multiprocessors = 16});
    const auto ref = pool.ref();
    const auto regions = [&pool] {
        std::uint64_t count = 0;
        pool.for_each_region([&](const Region& r) { count += r.size == 2048 ? 1 : 0; });
        return count;
    };
    const std::uint64_t before = regions();
    void* p = ref.allocate({}, 2048);
    const std::uint64_t blocks = regions() - before;
    EXPECT_GT(blocks, 1U);
    EXPECT_LT(blocks, 16U);
    std::set<void*> queued;
    for (std::uint64_t i = 1; i < blocks; ++i) queued.insert(ref.allocate({}, 2048));
    EXPECT_EQ(regions() - before, blocks) << "what was taken beyond the request is in the queue";
    EXPECT_EQ(allocated(pool), blocks * 2048);
    for (void* q : queued) ref.deallocate({}, q, 2048);
    ref.deallocate({}, p, 2048);
}

TEST(XMalloc, HandsLargeRequestsToCudaIfAsked) {
    using allocators::Fallback;
    const XMalloc pool(PoolConfig{.bytes = 16 << 20, .choices = {{"fallback", "cudamalloc"}}});
    const auto ref = pool.ref();
    void* block = ref.allocate({}, 64);
    void* large = ref.allocate({}, 3 << 20);
    ASSERT_NE(block, nullptr);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(ref.allocate({}, 3 << 20), nullptr) << "a quarter of the pool is CUDA's";
    ref.deallocate({}, large, 3 << 20);
    ref.deallocate({}, block, 64);
}

// ---------------------------------------------------------------- stalled calls

/// Calls that may be interrupted at each step, and which soon give up waiting for another.
struct HookedXMalloc : XMallocPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static void pause() { Interruptible::pause(); }
};

TEST(XMallocInterleaving, StalledCallsHarmNobody) {
    using Hooked = allocators::BasicXMalloc<HookedXMalloc>;
    const std::uint64_t seed = test_seed();
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 40 && !HasFailure(); ++i) {
        const std::uint64_t pool = i % 2 == 0 ? 16384 : 262144;
        const auto callers = static_cast<std::uint32_t>(1 + i % 7);
        World<Hooked, false> world({.bytes = pool, .multiprocessors = callers, .callers = callers},
                                   pool, seed + i);
        world.run(2000);
        given += world.given();
        SCOPED_TRACE(i);
        world.expect_all_free();
    }
    EXPECT_GT(given, 8000U);
}

/// The form of 2013, which takes blocks one by one.
template <class Policy>
class Buffers : public allocators::BasicXMalloc<Policy> {
public:
    explicit Buffers(PoolConfig config)
        : allocators::BasicXMalloc<Policy>((config.choices = {{"superblocks", "off"}}, config)) {}
};

using StallingXMalloc = allocators::BasicXMalloc<Stalling<XMallocPolicy>>;
[[maybe_unused]] const bool xmalloc_variants_are_enlisted =
    enlist<Buffers<XMallocPolicy>, SerialMachine>("xmalloc_buffers") &&
    enlist<Cached<XMalloc>, SerialMachine>("cached_xmalloc") &&
    enlist<Cached<XMalloc>, LockstepMachine>("cached_xmalloc") &&
    enlist<StallingXMalloc, SerialMachine>("stalling_xmalloc");

}  // namespace

TEST(XMallocStress, IsSound) {
    const StressScale scale{.warps = 8, .rounds = 1500, .pool = 16384, .largest = 400};
    stress<StallingXMalloc, SerialMachine>(scale, 3, false);
    stress<Buffers<Stalling<XMallocPolicy>>, SerialMachine>(scale, 3, false);
}

}  // namespace heapwood::tests
