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
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "allocators/cfmalloc.cuh"
#include "allocators/cfmmalloc.cuh"
#include "allocators/cmalloc.cuh"
#include "allocators/cmmalloc.cuh"
#include "tests/explorer/circular_scenarios.h"
#include "tests/explorer/explorer.h"

namespace heapwood::tests::explorer {

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

const char* name_of(Fault fault) {
    switch (fault) {
        case Fault::no_acquire:
            return "no acquire";
        case Fault::no_release:
            return "no release";
        case Fault::torn:
            return "torn";
        default:
            return "none";
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
template <class A>
void expect_faults_found() {
    const std::vector<Scenario<A>> scenarios = all_scenarios<A>();
    const Bounds bounds{.preemptions = 2, .stale_reads = 1};
    std::map<std::pair<std::string, unsigned>, Place> places;
    for (const Scenario<A>& s : scenarios) {
        for (const Place& p : s.run({.preemptions = 1, .stale_reads = 0}).places) {
            if (p.file == "core.cuh" || p.file == "header.cuh")
                places.try_emplace({p.file, p.line}, p);
        }
    }
    for (const auto& [key, place] : places) {
        std::vector<Fault> faults;
        if (place.acquires) faults.push_back(Fault::no_acquire);
        if (place.releases) faults.push_back(Fault::no_release);
        if (place.loads && place.stores) faults.push_back(Fault::torn);
        for (const Fault fault : faults) {
            const Mutation m{fault, place.file, place.line};
            std::string found;
            for (const Scenario<A>& s : scenarios) {
                const Result r = s.run(bounds, m);
                if (!r.found()) continue;
                found = std::string(s.name) + ": " + r.finding;
                break;
            }
            std::cout << "  " << A::traits().name << ": " << place.file << ":" << place.line << " "
                      << place.operation << ", " << name_of(fault) << ": "
                      << (found.empty() ? "NOT FOUND" : found) << "\n";
            EXPECT_NE(found, "") << place.file << ":" << place.line << " " << name_of(fault);
        }
    }
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

}  // namespace heapwood::tests::explorer
