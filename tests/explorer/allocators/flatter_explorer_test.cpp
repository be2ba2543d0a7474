/// @file
/// FlatterScatter, step by step: threads that enter, leave and claim pages of 1 KiB, and runs of
/// them, in access blocks of four pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/flatterscatter.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::flatter_scenarios {

namespace {

/// Fewer tries than would be good for anything but a short exploration.
struct ShortPolicy : allocators::FlatterScatterPolicy {
    static constexpr std::uint32_t kBlockShift = 2;
    static constexpr std::uint32_t kPagesPerHome = 8;
    static constexpr std::uint32_t kRounds = 4;
    static constexpr std::uint32_t kTries = 1;
};
constexpr std::size_t kPoolBytes = 16384;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kTiny = 12;
constexpr std::size_t kChunk = 16;
constexpr std::size_t kHalf = 20;
constexpr std::size_t kPage = 24;
constexpr std::size_t kRun = 28;

/// The bytes to ask for: a chunk of 1/64, 1/4 or 1/2 of a page, a page, two of them, or the pool.
std::size_t bytes(std::size_t used) {
    return used <= kTiny    ? 16
           : used <= kChunk ? 256
           : used <= kHalf  ? 512
           : used <= kPage  ? 1024
           : used <= kRun   ? 2048
                            : kPoolBytes;
}
using Flatter = Resized<allocators::BasicFlatterScatter<ShortPolicy>, bytes>;

using P = Pool<Flatter>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    bool full;                       ///< the rest of the pool is in use from beginning to end
    std::vector<std::size_t> taken;  ///< blocks that are allocated at first
    std::vector<unsigned> left;      ///< of these, the ones that are not freed again
    std::vector<std::function<void(P&, B)>> threads;
    unsigned homes = 1;
    bool in_turn = false;  ///< threads end before others begin
};

std::vector<Scenario> scenarios() {
    const auto wants = [](P& p, B) { p.allocate(kChunk); };
    const auto must_get = [](P& p, B) { p.must_allocate(kChunk); };
    const auto frees_first = [](P& p, B b) { p.free(b[0]); };
    const std::vector<std::size_t> page(4, kChunk);
    return {
        {"both enter the hint's page",
         false,
         {kChunk},
         {0},
         {[](P& p, B) {
              p.free(p.must_allocate(kChunk));
              p.must_allocate(kChunk);
          },
          must_get}},
        {"both claim the first page", false, {}, {}, {must_get, must_get}},
        {"both claim it for different sizes",
         false,
         {},
         {},
         {must_get, [](P& p, B) { p.must_allocate(kHalf); }}},
        {"both find the last chunk", false, page, {1, 2, 3}, {must_get, must_get}},
        {"a chunk is freed as another is searched for",
         false,
         page,
         {1, 2, 3},
         {frees_first, must_get}},
        // The bit that is tried first is that of the chunk.
        {"a chunk is freed as its number is counted",
         false,
         page,
         {1, 2, 3},
         {[](P& p, B b) { p.free(b[2]); }, must_get}},
        {"a chunk changes hands",
         false,
         {kChunk},
         {0},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kChunk));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kChunk);
          }}},
        {"the last chunk of a page is freed as the page is entered",
         true,
         {kChunk},
         {0},
         {frees_first, wants}},
        {"the last chunk of a page is freed, and the page wanted for another size",
         true,
         {kChunk},
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kHalf));
          },
          [](P& p, B) { p.free(p.allocate(kPage)); }}},
        {"both bring a page's count to nothing, and want its memory",
         true,
         {kChunk, kChunk},
         {0, 1},
         {frees_first,
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kPage));
          }}},
        {"a page is of another size when it is entered, and idle meanwhile",
         true,
         {kChunk},
         {},
         {[](P& p, B) {
              p.free(p.allocate(kHalf));
              p.free(p.allocate(kPage));
          },
          wants}},
        {"both claim the same run",
         true,
         {kRun},
         {},
         {[](P& p, B) { p.free(p.allocate(kRun)); }, [](P& p, B) { p.free(p.allocate(kRun)); }}},
        {"a page of a run is claimed for chunks",
         true,
         {kRun},
         {},
         {[](P& p, B) { p.free(p.allocate(kRun)); }, wants}},
        {"a run is freed as its first page is wanted",
         true,
         {kRun},
         {0},
         {frees_first, [](P& p, B) { p.free(p.allocate(kPage)); }}},
        // A request that has seen news must not be misled by a vain search before them.
        {"memory is freed as it is searched for in vain",
         true,
         {kPage},
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.give(0, b[0]);
          },
          [](P& p, B) {
              void* first = p.allocate(kChunk);
              if (p.take(0) != nullptr && first == nullptr) p.must_allocate(kChunk);
          }},
         2},
        // The hint of the other home is one of the pages before it.
        {"a full page gets room as it is searched in vain",
         true,
         {kPage, kPage, kPage, kPage, kChunk, kChunk, kChunk, kChunk},
         {0, 1, 2, 3, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[4]);
              p.give(0, b[4]);
          },
          [](P& p, B) {
              void* first = p.allocate(kChunk);
              if (p.take(0) != nullptr && first == nullptr) p.must_allocate(kChunk);
          }},
         2},
        {"a run is freed as it is searched for in vain",
         true,
         {kRun},
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.give(0, b[0]);
          },
          [](P& p, B) {
              void* first = p.allocate(kRun);
              if (p.take(0) != nullptr && first == nullptr) p.must_allocate(kRun);
          }},
         2},
        {"two pages are freed at once, and one searched for in vain",
         true,
         {kPage, kPage},
         {0, 1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.give(0, b[0]);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.allocate(kPage);
              void* second = p.allocate(kPage);
              if (p.take(0) != nullptr && second == nullptr) p.must_allocate(kPage);
          }}},
        // If one page of the two is had, the run cannot be, and must not be in the way.
        {"a run is given up as its pages are wanted",
         true,
         {kRun},
         {},
         {[](P& p, B) { p.allocate(kRun); },
          [](P& p, B) {
              if (p.allocate(kPage) != nullptr) p.must_allocate(kPage);
          }}},
        // The third chunk lies where the one that was freed was, whose bit is in another word.
        {"entering tells what was done to the page when its chunks were smaller",
         true,
         std::vector<std::size_t>(33, kTiny),
         {32},
         {frees_first,
          [](P& p, B) {
              p.allocate(kChunk);
              p.allocate(kChunk);
          },
          wants},
         1,
         true},
        {"entering tells what was done to the page when it was a run",
         true,
         {kRun},
         {0},
         {frees_first, [](P& p, B) { p.allocate(kHalf); }, wants},
         1,
         true},
        {"a run tells what was done to its pages when they had chunks",
         true,
         {kPage, kPage},
         {0, 1},
         {frees_first, [](P& p, B b) { p.free(b[1]); }, [](P& p, B) { p.allocate(kRun); }},
         1,
         true},
    };
}

Result run(const Scenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // threads use less than they ask for
    P pool({.bytes = kPoolBytes, .multiprocessors = s.homes}, expectations);
    std::vector<void*> taken;
    for (const std::size_t used : s.taken) taken.push_back(pool.prepare(used));
    std::vector<void*> blocks;
    try {
        while (s.full) pool.prepare(kPage);
    } catch (const std::invalid_argument&) {
        // Now it is.
    }
    for (unsigned i = 0; i < taken.size(); ++i) {
        if (std::find(s.left.begin(), s.left.end(), i) != s.left.end()) {
            blocks.push_back(taken[i]);
        } else {
            pool.prepare_free(taken[i]);
        }
    }
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds, mutation);
}

/// A thread that could go on is interrupted three times at most; twice where the pool is full, for
/// then a request searches long.
Bounds bounds_of(const Scenario& s) {
    const unsigned preemptions = s.in_turn ? 0 : s.full ? 2 : 3;
    return {.preemptions = preemptions, .stale_reads = 1, .steps = 2000};
}

TEST(FlatterExplorer, IsSound) {
    for (const Scenario& s : scenarios()) {
        expect_nothing_found(run(s, bounds_of(s)), s.name);
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(FlatterExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0}),
                   {"core.cuh", "pages.cuh", "runs.cuh", "moves.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        return first_broken(scenarios(),
                            [&](const Scenario& s) { return run(s, bounds_of(s), m); });
    });
    // Entering and claiming a page, taking a chunk, both kinds of news; before a search, the claims
    // of runs.
    EXPECT_EQ(found[Fault::no_acquire], 6U);
    // Leaving a page, clearing a bit, news; the end of a claim.
    EXPECT_EQ(found[Fault::no_release], 4U);
    // All of these but the counts of claims, of which one would have to be given up as another
    // begins; and where runs are looked for, which is a hint.
    EXPECT_EQ(found[Fault::torn], 6U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::flatter_scenarios
