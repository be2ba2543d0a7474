/// @file
/// The circular allocators, step by step: nothing is found in them, and something is as soon as
/// any of their acquires, releases or compare-and-swaps is weakened.
///
/// Where every order of two threads would take minutes, a thread that could go on is interrupted
/// three times at most, or less often: the bounds below. Old values are read once in an operation.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "allocators/circular.cuh"
#include "tests/explorer/allocators/circular_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"

namespace heapwood::tests::explorer::circular_scenarios {

namespace {

/// A circular allocator for pools of a few granules.
template <class Original, bool kMergesBack>
struct TinyPolicy : Original {
    static constexpr allocators::Traits traits() {
        allocators::Traits t = Original::traits();
        t.smallest_pool = kGranule;
        return t;
    }
    static constexpr std::uint32_t kRefuges = 1;
    static constexpr std::uint32_t kPatience = 20;
    static constexpr std::uint32_t kPersistence = 12;
    static constexpr bool kBackward = kMergesBack;
};
template <class Original, bool kMergesBack = false>
using Tiny = allocators::circular::CircularMalloc<TinyPolicy<Original, kMergesBack>>;

/// One whose requests do not give up while there is hope.
template <class Original, bool kMergesBack>
struct PersistentPolicy : TinyPolicy<Original, kMergesBack> {
    static constexpr std::uint32_t kPersistence = 40;
};
template <class Original>
using Persistent = allocators::circular::CircularMalloc<PersistentPolicy<Original, false>>;

/// One that cuts its pool for others, once a request has lost a chunk to another.
template <class Original, bool kMergesBack>
struct CrowdedPolicy : PersistentPolicy<Original, kMergesBack> {
    static constexpr std::uint32_t kRefuges = 2;
    static constexpr std::uint32_t kGranulesPerRefuge = 1;
    static constexpr std::uint32_t kCrowd = 1;
};
template <class Original, bool kMergesBack = false>
using Crowded = allocators::circular::CircularMalloc<CrowdedPolicy<Original, kMergesBack>>;

template <class A>
void expect_sound(const std::vector<Scenario<A>>& scenarios, const Bounds& bounds) {
    for (const Scenario<A>& s : scenarios) {
        const auto start = std::chrono::steady_clock::now();
        const Result r = s.run(bounds);
        const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
        std::cout << "  " << A::traits().name << ": " << s.name << ": " << r.executions
                  << " executions, " << r.states << " states, "
                  << (r.complete ? "all there are" : "not all") << ", " << t.count() << " s\n";
        EXPECT_EQ(r.finding, "") << A::traits().name << ", " << s.name << "\n" << r.schedule;
    }
}

template <class A>
std::vector<Scenario<A>> all_scenarios() {
    std::vector<Scenario<A>> all = two_threads<A>();
    for (Scenario<A>& s : three_threads<A>()) all.push_back(std::move(s));
    return all;
}

using Fused = Tiny<allocators::CFMallocPolicy>;
using Separate = Tiny<allocators::CMallocPolicy>;
using FusedBack = Tiny<allocators::CFMallocPolicy, true>;
using SeparateBack = Tiny<allocators::CMallocPolicy, true>;

TEST(CircularExplorer, FusedHeadersTwoThreads) {
    expect_sound(two_threads<Fused>(), {.stale_reads = 1});
}
TEST(CircularExplorer, FusedHeadersThreeThreads) {
    expect_sound(three_threads<Fused>(), {.preemptions = 2, .stale_reads = 1});
}
/// Not so separate headers: a traversal may read the new state of a chunk with its old next, leap
/// over the rest that was given back, and find the pool full.
TEST(CircularExplorer, FusedHeadersEnoughForBoth) {
    using A = Persistent<allocators::CFMallocPolicy>;
    expect_sound<A>({enough_for_both<A>()}, {.stale_reads = 1});
}
TEST(CircularExplorer, HintsPerMultiprocessorTwoThreads) {
    expect_sound(two_threads<Tiny<allocators::CFMMallocPolicy>>(), {.stale_reads = 1});
}
TEST(CircularExplorer, SeparateHeadersTwoThreads) {
    expect_sound(two_threads<Separate>(), {.preemptions = 3, .stale_reads = 1});
}
TEST(CircularExplorer, SeparateHeadersThreeThreads) {
    expect_sound(three_threads<Separate>(), {.preemptions = 2, .stale_reads = 1});
}
TEST(CircularExplorer, FusedHeadersMergingBackTwoThreads) {
    expect_sound(two_threads<FusedBack>(), {.preemptions = 3, .stale_reads = 1});
}
TEST(CircularExplorer, FusedHeadersMergingBackThreeThreads) {
    expect_sound(three_threads<FusedBack>(), {.preemptions = 2, .stale_reads = 1});
}
TEST(CircularExplorer, SeparateHeadersMergingBackTwoThreads) {
    expect_sound(two_threads<SeparateBack>(), {.preemptions = 2, .stale_reads = 1});
}
TEST(CircularExplorer, SeparateHeadersMergingBackThreeThreads) {
    expect_sound(three_threads<SeparateBack>(), {.preemptions = 1, .stale_reads = 1});
}

TEST(CircularExplorer, CrowdedFusedHeadersEnoughForBoth) {
    using A = Crowded<allocators::CFMallocPolicy>;
    expect_sound<A>({enough_for_both<A>()}, {.preemptions = 3, .stale_reads = 1});
}
TEST(CircularExplorer, CrowdedFusedHeaders) {
    expect_sound(all_scenarios<Crowded<allocators::CFMallocPolicy>>(),
                 {.preemptions = 2, .stale_reads = 1});
}
TEST(CircularExplorer, CrowdedSeparateHeadersMergingBack) {
    expect_sound(all_scenarios<Crowded<allocators::CMallocPolicy, true>>(),
                 {.preemptions = 1, .stale_reads = 1});
}

/// CMMalloc with a chunk for large requests of two granules and a share that has a stretch of four,
/// for requests of one, and a chunk of five.
struct SharesPolicy : TinyPolicy<allocators::CMMallocPolicy, true> {
    static constexpr std::uint32_t kSmallestShare = 8;
    static constexpr std::uint32_t kSmallestStretch = 4;
};
TEST(CircularExplorer, SharesOfSeparateHeadersTwoThreads) {
    using Shares = allocators::circular::CircularMalloc<SharesPolicy>;
    auto scenarios = two_threads<Shares>();
    for (Scenario<Shares>& s : scenarios) s.granules = 11;
    expect_sound(scenarios, {.preemptions = 2, .stale_reads = 1});
}

/// Two shares that are full: both threads turn to the chunk for large requests, of six granules,
/// and cut annexes off.
TEST(CircularExplorer, SharesWithoutRoomTwoThreads) {
    using Shares = allocators::circular::CircularMalloc<SharesPolicy>;
    using P = Pool<Shares>;
    using B = const std::vector<void*>&;
    constexpr std::size_t one = bytes_of<Shares>(1);
    constexpr std::size_t two = bytes_of<Shares>(2);
    constexpr std::uint64_t kGranules = 24;
    const auto full = layout<Shares>(std::vector<int>(kGranules * 3 / 4, 1));
    expect_sound<Shares>({{"both cut an annex off",
                           kGranules,
                           full,
                           {[](P& p, B) {
                                p.allocate(one);
                                p.free(p.allocate(one));
                            },
                            [](P& p, B) {
                                p.allocate(one);
                                p.allocate(one);
                            }}},
                          {"a large request meets an annex",
                           kGranules,
                           full,
                           {[](P& p, B) {
                                p.free(p.allocate(one));
                                p.allocate(one);
                            },
                            [](P& p, B) { p.free(p.allocate(two)); }}}},
                         {.preemptions = 2, .stale_reads = 1});
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
template <class A>
void expect_faults_found() {
    const std::vector<Scenario<A>> scenarios = all_scenarios<A>();
    Places places;
    for (const Scenario<A>& s : scenarios) {
        add_places(places, s.run({.preemptions = 1, .stale_reads = 0}),
                   {"core.cuh", "detours.cuh", "header.cuh", "homes.cuh", "refuges.cuh", "ring.cuh",
                    "search.cuh"});
    }
    auto found = break_each(places, [&](const Mutation& m) {
        for (const Scenario<A>& s : scenarios) {
            const Result r = s.run({.preemptions = 2, .stale_reads = 1}, m);
            if (r.found()) return s.name + (": " + r.finding);
        }
        return std::string();
    });
    EXPECT_EQ(found[Fault::none], 0U);
    EXPECT_GT(found[Fault::torn], 0U);
}

TEST(CircularExplorer, FindsFaultsInFusedHeaders) {
    expect_faults_found<Fused>();
}
TEST(CircularExplorer, FindsFaultsInSeparateHeaders) {
    expect_faults_found<Separate>();
}
TEST(CircularExplorer, FindsFaultsInFusedHeadersMergingBack) {
    expect_faults_found<FusedBack>();
}

}  // namespace

}  // namespace heapwood::tests::explorer::circular_scenarios
