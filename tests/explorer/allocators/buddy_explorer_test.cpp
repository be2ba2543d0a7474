/// @file
/// The buddy allocator, step by step: two threads that split, merge, and hand over the units of the
/// smallest pool, eight units of 512 bytes.
///
/// A thread that could go on is interrupted twice at most.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "allocators/buddy.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::buddy_scenarios {

namespace {

template <std::uint32_t kSearches>
struct ShortPolicy {
    static constexpr std::uint32_t kPatience = kSearches;
    static void pause() {}
};
/// A request that gives up soon, and one that searches again as long as others move units.
using Hasty = Pool<allocators::BasicBuddy<ShortPolicy<2>>>;
using Patient = Pool<allocators::BasicBuddy<ShortPolicy<40>>>;

template <class P>
struct Scenario {
    const char* name;
    std::vector<std::size_t> blocks;  ///< that are there from the beginning
    std::vector<std::function<void(P&, const std::vector<void*>&)>> threads;
};

template <class P>
Result run(const Scenario<P>& s, const Bounds& bounds) {
    P pool({.bytes = 4096});
    std::vector<void*> blocks;
    for (const std::size_t bytes : s.blocks) blocks.push_back(pool.prepare(bytes));
    std::vector<typename P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds);
}

template <class P>
void expect_sound(const std::vector<Scenario<P>>& scenarios, const Bounds& bounds) {
    for (const Scenario<P>& s : scenarios) {
        expect_nothing_found(run(s, bounds), s.name);
    }
}

TEST(BuddyExplorer, IsSound) {
    using P = Hasty;
    using B = const std::vector<void*>&;
    expect_sound<P>(
        {
            {"two split the last unit",
             {2048, 1024, 512},
             {[](P& p, B) { p.free(p.allocate(16)); }, [](P& p, B) { p.free(p.allocate(16)); }}},
            {"both free, and split",
             {2048, 1024, 512, 256, 256},
             {[](P& p, B b) {
                  p.free(b[3]);
                  p.allocate(16);
              },
              [](P& p, B b) {
                  p.free(b[4]);
                  p.allocate(16);
              }}},
            {"both free halves, one wants the whole",
             {2048, 1024, 512, 256, 256},
             {[](P& p, B b) {
                  p.free(b[3]);
                  p.free(p.allocate(512));
              },
              [](P& p, B b) { p.free(b[4]); }}},
            {"one merges, one allocates",
             {2048, 1024, 512, 16},
             {[](P& p, B b) {
                  p.free(b[3]);
                  p.free(p.allocate(512));
              },
              [](P& p, B) { p.free(p.allocate(16)); }}},
            {"both merge",
             {2048, 1024, 512, 16},
             {[](P& p, B b) {
                  p.free(b[3]);
                  p.free(p.allocate(512));
              },
              [](P& p, B) { p.free(p.allocate(512)); }}},
            {"a block changes hands",
             {2048, 1024, 512, 256},
             {[](P& p, B b) {
                  p.give(0, p.must_allocate(16));
                  p.free(b[3]);
              },
              [](P& p, B) {
                  p.free(p.take(0));
                  p.free(p.allocate(512));
              }}},
            {"a run meets single units",
             {2048, 1024, 512, 256, 128},
             {[](P& p, B) { p.free(p.allocate(64)); },
              [](P& p, B) {
                  p.free(p.allocate(16));
                  p.free(p.allocate(128));
              }}},
        },
        {.preemptions = 2, .stale_reads = 1});
}

/// Who splits a unit hides it for a moment. A request that sees the split counted sees its parts.
TEST(BuddyExplorer, ASplitThatIsDoneRefusesNobody) {
    using P = Patient;
    using B = const std::vector<void*>&;
    expect_sound<P>({{"two must have parts of the last unit",
                      {2048, 1024, 512},
                      {[](P& p, B) { p.free(p.must_allocate(16)); },
                       [](P& p, B) { p.free(p.must_allocate(16)); }}}},
                    {.preemptions = 2, .stale_reads = 1});
}

}  // namespace

}  // namespace heapwood::tests::explorer::buddy_scenarios
