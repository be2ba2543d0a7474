/// @file
/// What sets XMalloc apart: its queues, against a std::deque and concurrently, superblocks and
/// single blocks, and blocks in queues that return to the pool when it is full.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <thread>
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
using allocators::xmalloc::Fifo;
using allocators::xmalloc::FifoEnds;
using allocators::xmalloc::FifoSlot;

// ---------------------------------------------------------------- the queue

/// A queue with its memory.
template <class Policy>
struct Queue {
    explicit Queue(std::uint32_t log2_slots)
        : slots(std::size_t{1} << log2_slots), fifo(ends, slots.data(), log2_slots) {}

    FifoEnds ends{};
    std::vector<FifoSlot> slots;
    Fifo<Policy> fifo;
};

TEST(XMallocFifo, AgreesWithADeque) {
    Dice dice{test_seed()};
    for (const std::uint32_t log2_slots : {0U, 1U, 3U, 8U}) {
        Queue<XMallocPolicy> queue(log2_slots);
        std::deque<std::uint32_t> model;
        std::uint64_t full = 0;
        std::uint64_t empty = 0;
        for (unsigned i = 0; i < 20000; ++i) {
            // Now more goes in, now more comes out.
            if (dice.below(5) < 2 + i / 3000 % 2) {
                const auto value = static_cast<std::uint32_t>(dice.next() | 1);
                const bool room = model.size() < queue.slots.size();
                ASSERT_EQ(queue.fifo.push(value), room);
                if (room) model.push_back(value);
                full += room ? 0 : 1;
            } else if (model.empty()) {
                ASSERT_EQ(queue.fifo.pop(), 0U);
                ++empty;
            } else {
                ASSERT_EQ(queue.fifo.pop(), model.front());
                model.pop_front();
            }
        }
        EXPECT_GT(full, 0U);
        EXPECT_GT(empty, 0U);
    }
}

/// Threads push numbers of their own in ascending order, and pop. Nothing is lost or doubled, what
/// was written before a push is seen after the pop, and of any one thread's numbers every thread
/// pops later ones later.
template <class Policy>
void pass_around(std::uint32_t log2_slots) {
    constexpr std::uint32_t kThreads = 4;
    constexpr std::uint32_t kEach = 3000;
    Queue<Policy> queue(log2_slots);
    std::vector<std::uint64_t> payload(kThreads * kEach + 1);
    std::vector<std::vector<std::uint32_t>> popped(kThreads);
    std::atomic<std::uint32_t> left{kThreads * kEach};
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint32_t next = 0; left.load(std::memory_order_relaxed) > 0;) {
                const std::uint32_t value = t * kEach + next + 1;
                if (next < kEach) {
                    payload[value] = value * 7U;
                    if (queue.fifo.push(value)) ++next;
                }
                if (const std::uint32_t got = queue.fifo.pop()) {
                    if (payload[got] != got * 7U) wrong.fetch_add(1);
                    payload[got] = 0;
                    popped[t].push_back(got);
                    left.fetch_sub(1, std::memory_order_relaxed);
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong.load(), 0U);
    std::vector<std::uint32_t> all;
    for (const auto& list : popped) {
        std::vector<std::uint32_t> last(kThreads, 0);
        for (const std::uint32_t value : list) {
            EXPECT_GT(value, last[(value - 1) / kEach]) << "not first in, first out";
            last[(value - 1) / kEach] = value;
            all.push_back(value);
        }
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), kThreads * kEach);
    for (std::uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i + 1) << "lost or doubled";
    EXPECT_EQ(queue.fifo.pop(), 0U);
}

TEST(XMallocFifo, LosesAndDoublesNothing) {
    for (const std::uint32_t log2_slots : {0U, 1U, 4U, 8U}) pass_around<XMallocPolicy>(log2_slots);
}
TEST(XMallocFifo, LosesAndDoublesNothingWhenThreadsAreStalled) {
    for (const std::uint32_t log2_slots : {0U, 1U, 4U}) {
        pass_around<Stalling<XMallocPolicy>>(log2_slots);
    }
}

/// Whoever is stalled here stays so until the caller returns: no patience would be enough.
struct HookedPolicy : XMallocPolicy {
    static constexpr std::uint32_t kPatience = 2;
    static void pause() { Interruptible::pause(); }
};

TEST(XMallocFifo, DoesNotWaitForAStalledThread) {
    for (const bool pushes : {true, false}) {
        for (unsigned step = 0; step < 3; ++step) {
            Queue<HookedPolicy> queue(2);
            EXPECT_TRUE(queue.fifo.push(1));
            EXPECT_TRUE(queue.fifo.push(2));
            unsigned steps = 0;
            Interruptible::hook = [&] {
                if (steps++ != step) return;
                EXPECT_NE(queue.fifo.pop(), 0U) << "stalled at step " << step;
                EXPECT_TRUE(queue.fifo.push(3)) << "stalled at step " << step;
            };
            if (pushes) {
                EXPECT_TRUE(queue.fifo.push(4));
            } else {
                EXPECT_NE(queue.fifo.pop(), 0U);
            }
            EXPECT_GT(steps, step);
            Interruptible::hook = nullptr;
        }
    }
}

/// Every push and pop may be stalled while others run; a deque of what has gone in for certain.
TEST(XMallocFifo, StalledCallsHarmNobody) {
    Dice dice{test_seed()};
    for (unsigned world = 0; world < 200 && !HasFailure(); ++world) {
        Queue<HookedPolicy> queue(world % 4);
        std::multiset<std::uint32_t> in;  // pushed, or being pushed
        std::uint32_t next = 0;
        unsigned depth = 0;
        unsigned left = 300;
        std::function<void()> call = [&] {
            if (left == 0) return;
            --left;
            if (dice.below(2) == 0) {
                const std::uint32_t value = ++next;
                in.insert(value);
                if (!queue.fifo.push(value)) in.erase(value);
            } else if (const std::uint32_t value = queue.fifo.pop()) {
                EXPECT_EQ(in.erase(value), 1U) << "never pushed, or popped twice";
            }
        };
        Interruptible::hook = [&] {
            if (depth == 4 || dice.below(3) != 0) return;
            ++depth;
            for (std::uint64_t n = 1 + dice.below(4); n > 0; --n) call();
            --depth;
        };
        while (left > 0) call();
        Interruptible::hook = nullptr;
        for (std::size_t n = in.size(); n > 0; --n) EXPECT_EQ(in.erase(queue.fifo.pop()), 1U);
        EXPECT_EQ(queue.fifo.pop(), 0U) << "world " << world;
    }
}

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

TEST(XMallocInterleaving, StalledCallsHarmNobody) {
    using Hooked = allocators::BasicXMalloc<HookedPolicy>;
    const std::uint64_t seed = test_seed();
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 40 && !HasFailure(); ++i) {
        const std::uint64_t pool = i % 2 == 0 ? 16384 : 262144;
        const auto callers = static_cast<std::uint32_t>(1 + i % 7);
        World<Hooked, false> world({.bytes = pool, .multiprocessors = callers, .callers = callers},
                                   pool, seed + i);
        world.run(2000);
        given += world.given();
        world.allocator().for_each_region(
            [&](const Region& r) { EXPECT_FALSE(r.allocated) << "lost; world " << i; });
        EXPECT_NE(world.allocator().ref().allocate({}, pool), nullptr) << "world " << i;
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
[[maybe_unused]] const bool kEnlisted =
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
