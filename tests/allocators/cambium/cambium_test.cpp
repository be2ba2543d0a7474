/// @file
/// Cambium with calls that are stalled at the dangerous points, with crowds, and with blocks that
/// are freed in parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocators/cambium.cuh"
#include "tests/allocators/bodies.h"
#include "tests/allocators/cached.h"
#include "tests/allocators/fixture.h"
#include "tests/allocators/herd.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/specimens/published_stress.h"
#include "tests/allocators/subjects.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::BasicCambium;
using allocators::Cambium;
using allocators::CambiumPolicy;
using allocators::kAlignment;
using allocators::PoolConfig;
using allocators::Region;

/// A call that is stalled here stays so until the caller returns.
struct HookedCambiumPolicy : CambiumPolicy {
    static constexpr std::uint32_t kRounds = 4;
    static void pause() { Interruptible::pause(); }
};

TEST(CambiumInterleaving, StalledCallsHarmNobody) {
    expect_stalls_harm_nobody<BasicCambium<HookedCambiumPolicy>>({16384, 65536, 4 << 20}, 300, 60);
}

using StallingCambium = BasicCambium<Stalling<CambiumPolicy>>;
/// Lanes always act for one another, in groups of one.
struct CrowdedCambiumPolicy : CambiumPolicy {
    static bool is_crowded() { return true; }
};

[[maybe_unused]] const bool cambium_variants_are_enlisted =
    enlist<StallingCambium, SerialMachine>("stalling_cambium") &&
    enlist<BasicCambium<CrowdedCambiumPolicy>, SerialMachine>("crowded_cambium") &&
    enlist<Cached<Cambium>, SerialMachine>("cached_cambium") &&
    enlist<Cached<Cambium>, LockstepMachine>("cached_cambium");

using WatchedCambiumPolicy = Watched<CambiumPolicy>;

/// So it cannot hold up others, wherever it is stalled.
TEST(CambiumTest, ARefusalByAFullPoolHidesNothing) {
    for (const std::uint64_t bytes : {16U, 200U, 512U, 2048U}) {
        const BasicCambium<WatchedCambiumPolicy> pool(PoolConfig{.bytes = 1 << 20});
        const auto ref = pool.ref();
        while (ref.allocate({}, bytes) != nullptr) {
        }
        const std::uint64_t before = WatchedCambiumPolicy::pauses;
        for (std::uint32_t warp = 0; warp < 4; ++warp) {
            EXPECT_EQ(ref.allocate({warp, warp}, bytes), nullptr);
        }
        EXPECT_EQ(WatchedCambiumPolicy::pauses, before) << bytes << " bytes";
    }
}

/// Counts the rounds of refusals.
struct CountedCambiumPolicy : CambiumPolicy {
    struct Rounds {
        static inline std::uint64_t begun = 0;
        operator std::uint32_t() const {
            ++begun;
            return CambiumPolicy::kRounds;
        }
    };
    static constexpr Rounds kRounds{};
    static constexpr Rounds kFewRounds{};
};

/// A request looks once at a pool in which nobody else is active, however the pool was filled: also
/// if the last untouched blocks were taken by requests that just fit.
TEST(CambiumTest, ARefusalTakesOneRound) {
    const PoolConfig small{.bytes = 1 << 20};
    const PoolConfig ample{.bytes = 1 << 20, .largest_request = 4096};
    for (const PoolConfig& config : {small, ample}) {
        for (const std::uint64_t bytes : {16U, 512U, 1024U, 2048U, 4096U, 5000U}) {
            const BasicCambium<CountedCambiumPolicy> pool(config);
            const auto ref = pool.ref();
            std::uint64_t blocks = 0;
            while (ref.allocate({}, bytes) != nullptr) ++blocks;
            for (const std::uint64_t other : {bytes, std::uint64_t{16384}}) {
                CountedCambiumPolicy::Rounds::begun = 0;
                EXPECT_EQ(ref.allocate({}, other), nullptr);
                EXPECT_EQ(CountedCambiumPolicy::Rounds::begun, 1U)
                    << other << " bytes after " << blocks << " blocks of " << bytes;
            }
        }
    }
}

/// What is to happen at the next pause, once.
struct InterruptedCambiumPolicy : CountedCambiumPolicy {
    static inline std::function<void()> meanwhile;
    static void pause() {
        if (meanwhile) std::exchange(meanwhile, nullptr)();
    }
};

/// Where all of a pool but some blocks is in use others always open and close these. A request for
/// several blocks does not wait until they are done.
TEST(CambiumTest, ARequestForARunDoesNotWaitForOthers) {
    using Pool = BasicCambium<InterruptedCambiumPolicy>;
    const Pool pool(PoolConfig{.bytes = 1 << 20});
    const auto ref = pool.ref();
    constexpr std::uint64_t kBlock = 1024;
    void* block = nullptr;
    while (void* next = ref.allocate({}, kBlock)) block = next;
    ref.deallocate({}, block, kBlock);
    bool is_tried = false;
    InterruptedCambiumPolicy::meanwhile = [&] {
        CountedCambiumPolicy::Rounds::begun = 0;
        EXPECT_EQ(ref.allocate({1, 1}, 2 * kBlock), nullptr);
        EXPECT_EQ(CountedCambiumPolicy::Rounds::begun, 1U);
        is_tried = true;
    };
    EXPECT_NE(ref.allocate({}, kBlock), nullptr);
    EXPECT_TRUE(is_tried);
}

/// A piece of a block.
struct Piece {
    char* begin;
    std::uint64_t bytes;
};

/// A block is freed in pieces of any size, in any order, also across borders of the pool's blocks.
TEST(CambiumTest, BlocksMayBeFreedInParts) {
    Dice dice{test_seed()};
    constexpr std::uint64_t kPool = 1 << 20;
    const Cambium pool(PoolConfig{.bytes = kPool});
    const auto ref = pool.ref();
    for (unsigned round = 0; round < 50; ++round) {
        std::vector<Piece> pieces;
        for (std::uint64_t left = kPool / 2; left > 0;) {
            const std::uint64_t bytes = std::min(left, 1 + dice.below(40000));
            left -= bytes;
            auto* block = static_cast<char*>(ref.allocate({}, bytes));
            ASSERT_NE(block, nullptr) << bytes << " bytes in round " << round;
            for (std::uint64_t at = 0; at < bytes;) {
                const std::uint64_t part = kAlignment * (1 + dice.below(400));
                pieces.push_back({block + at, std::min(part, bytes - at)});
                at += part;
            }
        }
        while (!pieces.empty()) {
            std::swap(pieces[dice.below(pieces.size())], pieces.back());
            ref.deallocate({}, pieces.back().begin, pieces.back().bytes);
            pieces.pop_back();
        }
        pool.for_each_region([](const Region& r) { EXPECT_FALSE(r.allocated) << "lost"; });
    }
    EXPECT_NE(ref.allocate({}, pool.pool_bytes()), nullptr);
}

/// Of a pool in which one piece is in use.
std::uint64_t block_bytes(const Cambium& pool) {
    EXPECT_NE(pool.ref().allocate({}, kAlignment), nullptr);
    std::uint64_t bytes = 0;
    pool.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
    return bytes;
}

/// With four callers for each cache there is a quarter of the caches, so that blocks can be four
/// times as large. Only an ample pool has room for large requests beside them; a roomy one has it
/// beside blocks that are twice as large.
TEST(CambiumTest, ARoomyPoolHasLargerBlocksForSharedCaches) {
    PoolConfig config{.bytes = 64 << 20, .multiprocessors = 132, .callers = 2640};
    const auto with = [&](std::uint32_t cache_users, std::uint64_t largest_request) {
        config.cache_users = cache_users;
        config.largest_request = largest_request;
        return block_bytes(Cambium(config));
    };
    constexpr std::uint64_t kAmple = 1 << 20;  // 64 times this
    constexpr std::uint64_t kRoomy = 3 << 20;  // 21 times
    constexpr std::uint64_t kShort = 4 << 20;
    EXPECT_EQ(with(1, kShort), 8192);
    EXPECT_EQ(with(4, kShort), 8192);
    EXPECT_EQ(with(4, 0), 8192) << "not known";
    EXPECT_EQ(with(1, kRoomy), 8192);
    EXPECT_EQ(with(2, kRoomy), 16384);
    EXPECT_EQ(with(4, kRoomy), 16384);
    EXPECT_EQ(with(1, kAmple), 8192);
    EXPECT_EQ(with(4, kAmple), 32768);
}

/// Between 4 and 8 times the largest request blocks are of one size. With less they are smaller,
/// and most of the pool is for large requests.
TEST(CambiumTest, AShortPoolHasNoSmallerBlocks) {
    const auto with = [](std::uint64_t eighths) {
        constexpr std::uint64_t kLargest = 1 << 20;
        return PoolConfig{.bytes = eighths * kLargest / 8,
                          .largest_request = kLargest,
                          .multiprocessors = 132,
                          .callers = 2640,
                          .cache_users = 4};
    };
    for (std::uint64_t eighths = 32; eighths <= 80; ++eighths) {
        EXPECT_EQ(block_bytes(Cambium(with(eighths))), 1024) << eighths << " eighths";
    }
    EXPECT_EQ(block_bytes(Cambium(with(24))), 512);
    for (const std::uint64_t eighths : {24, 32, 64}) {
        const Cambium pool(with(eighths));
        for (std::uint32_t warp = 0; warp < 2640; ++warp) {
            EXPECT_NE(pool.ref().allocate({warp, warp}, kAlignment), nullptr);
        }
        std::uint64_t end = 0;
        pool.for_each_region([&](const Region& r) { end = r.allocated ? r.offset + r.size : end; });
        const auto share = static_cast<double>(end) / static_cast<double>(pool.pool_bytes());
        EXPECT_NEAR(share, eighths == 64 ? 0.5 : 0.125, 0.02) << eighths << " eighths";
    }
}

/// Callers without a cache look for runs in different places, but at multiples of their length:
/// else what lies between two runs would be too short for another one.
TEST(CambiumTest, RunsOfCallersWithoutACacheLeaveNoGaps) {
    const PoolConfig config{.bytes = 1 << 20};
    const std::uint64_t block = block_bytes(Cambium(config));
    for (const std::uint64_t n : {2, 4, 8, 16}) {
        const Cambium pool(config);
        const auto runs = static_cast<std::uint32_t>(pool.pool_bytes() / (n * block));
        for (std::uint32_t warp = 0; warp < runs; ++warp) {
            EXPECT_NE(pool.ref().allocate({warp, warp}, n * block), nullptr)
                << "run " << warp << " of " << runs << ", of " << n << " blocks each";
        }
    }
}

/// Wherever the only run is, also across words of the map, a caller without a cache finds it.
TEST(CambiumTest, TheOnlyRunIsFound) {
    Dice dice{test_seed()};
    const Cambium pool(PoolConfig{.bytes = 1 << 20});
    const auto ref = pool.ref();
    constexpr std::uint64_t kBlock = 1024;
    std::vector<char*> blocks;
    while (void* block = ref.allocate({}, kBlock)) blocks.push_back(static_cast<char*>(block));
    ASSERT_EQ(blocks.size(), pool.pool_bytes() / kBlock);
    char* const begin = *std::min_element(blocks.begin(), blocks.end());
    for (unsigned i = 0; i < 3000; ++i) {
        const std::uint64_t n = 2 + dice.below(40);
        char* const run = begin + dice.below(blocks.size() - n + 1) * kBlock;
        for (std::uint64_t b = 0; b < n; ++b) ref.deallocate({}, run + b * kBlock, kBlock);
        const auto warp = static_cast<std::uint32_t>(dice.below(1000));
        ASSERT_EQ(ref.allocate({warp, warp}, n * kBlock), run)
            << n << " blocks from " << (run - begin) / kBlock << " on, warp " << warp;
    }
}

}  // namespace

}  // namespace heapwood::tests
