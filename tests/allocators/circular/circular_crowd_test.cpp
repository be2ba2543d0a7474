/// @file
/// Many requests at once for one chunk, of the circular allocators with a single hint: threads that
/// go in lockstep, as a GPU's do, so that all of them want the same chunk at the same moment. None
/// may be refused while there is memory, nor while it is about to be given back.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "allocators/circular.cuh"

namespace heapwood::tests {

namespace {

/// A policy whose threads make each step together, and that has no patience but where there is
/// hope.
template <class Policy>
struct InLockstep : Policy {
    static constexpr std::uint32_t kPatience = 1;
    static inline std::barrier<>* together = nullptr;
    static void pause() {
        if (together != nullptr) together->arrive_and_wait();
    }
};

template <class Policy>
class CircularCrowd : public ::testing::Test {};
using Policies = ::testing::Types<allocators::CMallocPolicy, allocators::CFMallocPolicy,
                                  allocators::CDMallocPolicy>;
TYPED_TEST_SUITE(CircularCrowd, Policies);

TYPED_TEST(CircularCrowd, NobodyIsRefused) {
    using Policy = InLockstep<TypeParam>;
    constexpr std::uint32_t kThreads = 48;
    constexpr std::uint32_t kEach = 2;
    constexpr std::size_t kBytes = 16;
    allocators::circular::CircularMalloc<Policy> pool({.bytes = 1 << 20});
    const auto ref = pool.ref();
    std::vector<void*> blocks(kThreads * kEach, nullptr);

    std::barrier<> together(kThreads);
    Policy::together = &together;
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (std::uint32_t i = 0; i < kEach; ++i) {
                blocks[t * kEach + i] = ref.allocate({0, t}, kBytes);
            }
            together.arrive_and_drop();
        });
    }
    threads.clear();
    Policy::together = nullptr;

    EXPECT_EQ(std::count(blocks.begin(), blocks.end(), nullptr), 0);
    unsigned pieces = 0;
    pool.for_each_region([&](const allocators::Region& r) { pieces += r.allocated ? 0 : 1; });
    EXPECT_GT(pieces, kThreads / 4) << "not cut for the crowd";
    std::sort(blocks.begin(), blocks.end());
    EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
    for (void* block : blocks) ref.deallocate({0, 0}, block, kBytes);
    EXPECT_NE(ref.allocate({0, 0}, pool.pool_bytes()), nullptr) << "the pool is not whole again";
}

/// Headers of two words; whoever gives a chunk away may be stalled between the two.
struct StallingHeaders {
    using Cell = allocators::circular::SeparateHeaders::Cell;
    static constexpr bool kFused = false;
    static constexpr std::uint32_t kConfirmations =
        allocators::circular::SeparateHeaders::kConfirmations;
    static inline std::function<void()> hook;

    static constexpr Cell encode(allocators::circular::Header h) {
        return allocators::circular::SeparateHeaders::encode(h);
    }
    static constexpr allocators::circular::Header decode(Cell c) {
        return allocators::circular::SeparateHeaders::decode(c);
    }

    StallingHeaders() = default;
    explicit StallingHeaders(Cell* cells) : words(cells) {}
    allocators::circular::Header load(std::uint32_t at) const { return words.load(at); }
    bool take(std::uint32_t at, allocators::circular::Header& seen,
              allocators::circular::State to) const {
        return words.take(at, seen, to);
    }
    void settle(std::uint32_t at, allocators::circular::Header h) const { words.settle(at, h); }
    void give(std::uint32_t at, std::uint32_t next) const {
        words.settle(at, {words.load(at).state, next});
        if (hook) hook();
        words.give(at, next);
    }

    allocators::circular::SeparateHeaders words;
};

template <class Original>
struct StalledPolicy : Original {
    using Headers = StallingHeaders;
    static constexpr std::uint32_t kPatience = 100;
    static constexpr std::uint32_t kPersistence = 100;
};

/// A block that has been merged with all that was free, and is not given back yet, is no full pool.
template <class Policy>
void expect_unsure_while_freed() {
    allocators::circular::CircularMalloc<StalledPolicy<Policy>> pool({.bytes = 4096});
    const auto ref = pool.ref();
    void* block = ref.allocate({}, 16);
    unsigned stalled = 0;
    StallingHeaders::hook = [&] {
        ++stalled;
        bool full = true;
        EXPECT_EQ(ref.allocate({}, 16, full), nullptr);
        EXPECT_FALSE(full);
    };
    ref.deallocate({}, block, 16);
    StallingHeaders::hook = nullptr;
    EXPECT_EQ(stalled, 1U);
    EXPECT_NE(ref.allocate({}, 4096), nullptr);
}

/// CFMalloc, whose calls may be stalled, and which has no patience but where there is hope.
struct HopefulPolicy : allocators::CFMallocPolicy {
    static constexpr std::uint32_t kPatience = 1;
    static constexpr std::uint32_t kPersistence = 1000;
    static inline std::function<void()> hook;
    static inline std::uint32_t steps;
    static void pause() {
        ++steps;  // a search pauses at each step
        if (hook) hook();
    }
};

TEST(CircularFullPool, ATraversalThatLeapsOverAMergedChunkIsHopeful) {
    allocators::circular::CircularMalloc<HopefulPolicy> pool({.bytes = 4096});
    const auto ref = pool.ref();
    void* block = ref.allocate({}, 16);
    unsigned pauses = 0;
    HopefulPolicy::hook = [&] {
        // The second one: the rest of the pool has been merged with, and is not given back yet.
        if (++pauses != 2) return;
        HopefulPolicy::steps = 0;
        bool full = true;
        EXPECT_EQ(ref.allocate({}, 16, full), nullptr);
        EXPECT_FALSE(full);
        EXPECT_GE(HopefulPolicy::steps, HopefulPolicy::kPersistence);
        // Not for more than can be there.
        HopefulPolicy::steps = 0;
        EXPECT_EQ(ref.allocate({}, 4096, full), nullptr);
        EXPECT_LT(HopefulPolicy::steps, HopefulPolicy::kPersistence);
    };
    ref.deallocate({}, block, 16);
    HopefulPolicy::hook = nullptr;
    EXPECT_GT(pauses, 2U);
}

TEST(CircularFullPool, ABlockBeingFreedIsNoFullPool) {
    expect_unsure_while_freed<allocators::CMallocPolicy>();
    expect_unsure_while_freed<allocators::CDMallocPolicy>();
}

}  // namespace

}  // namespace heapwood::tests
