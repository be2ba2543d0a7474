/// @file
/// ScatterAlloc's fields, step by step: two threads that open, enter, leave and close the fields of
/// the smallest pool, which has one home, so that they share every slot.
///
/// A thread that could go on is interrupted three times at most.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/scatteralloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::scatter_scenarios {

namespace {

using allocators::Context;
using allocators::PoolConfig;
using allocators::ScatterAlloc;

constexpr std::size_t kPool = 8 * 4096;
/// What threads use of a chunk stands for what they ask for, or the explorer would have too much
/// to watch.
constexpr std::size_t kSmall = 4;    ///< 64 bytes, a chunk of a chunk
constexpr std::size_t kQuarter = 8;  ///< of a page
constexpr std::size_t kHalf = 16;    ///< a page
constexpr std::size_t kRun = 32;     ///< a page of the list
constexpr std::size_t kAll = 64;     ///< the pool

/// ScatterAlloc that is asked for so much.
class Scaled : public ScatterAlloc {
public:
    struct Ref {
        void* allocate(const Context& context, std::size_t used) const {
            return inner.allocate(context, bytes(used));
        }
        void deallocate(const Context& context, void* p, std::size_t used) const {
            inner.deallocate(context, p, bytes(used));
        }
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, bytes(used));
        }
        static std::size_t bytes(std::size_t used) {
            switch (used) {
                case kSmall:
                    return 64;
                case kQuarter:
                    return 1024;
                case kHalf:
                    return 2048;
                case kRun:
                    return 4096;
                case kAll:
                    return kPool;
                default:
                    return used;
            }
        }
        ScatterAlloc::Ref inner;
    };

    using ScatterAlloc::ScatterAlloc;
    Ref ref() const { return {ScatterAlloc::ref()}; }
};

using P = Pool<Scaled>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    std::vector<std::size_t> blocks;  ///< that are there from the beginning
    std::vector<std::function<void(P&, B)>> threads;
};

std::vector<Scenario> scenarios() {
    return {
        {"both open the first page",
         {},
         {[](P& p, B) { p.free(p.must_allocate(kHalf)); },
          [](P& p, B) { p.must_allocate(kHalf); }}},
        {"both take the last chunk",
         {kHalf},
         {[](P& p, B) { p.must_allocate(kHalf); }, [](P& p, B) { p.must_allocate(kHalf); }}},
        {"a chunk comes and goes as it is taken",
         {kHalf},
         {[](P& p, B) { p.must_allocate(kHalf); },
          [](P& p, B) { p.free(p.must_allocate(kHalf)); }}},
        {"a page that was left behind is entered as it is left",
         {kHalf, kHalf, kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
          },
          [](P& p, B) { p.must_allocate(kHalf); }}},
        {"both leave a page",
         {kHalf, kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kQuarter);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.allocate(kRun);
          }}},
        {"a run takes the place of a page that is entered as it is left",
         {kHalf, kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
              p.allocate(kRun);
          },
          [](P& p, B) {
              p.must_allocate(kHalf);
              p.must_allocate(kHalf);
          }}},
        {"both leave a page, and a run takes its place",
         {kHalf, kHalf, kHalf},
         {[](P& p, B b) { p.free(b[0]); },
          [](P& p, B b) {
              p.free(b[1]);
              p.allocate(kRun);
          }}},
        {"a page takes the place of a run",
         {},
         {[](P& p, B) { p.must_allocate(kHalf); },
          [](P& p, B) {
              p.free(p.must_allocate(kRun));
              p.must_allocate(kHalf);
          }}},
        {"an idle page is taken back as it is entered",
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kAll));
          },
          [](P& p, B) { p.free(p.allocate(kHalf)); }}},
        {"a page changes its size under a late entrance",
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kAll));
              p.free(p.allocate(kQuarter));
          },
          [](P& p, B) { p.free(p.allocate(kHalf)); }}},
        {"a run takes a page's place under a late entrance",
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kAll);
          },
          [](P& p, B) { p.free(p.allocate(kHalf)); }}},
        {"a chunk changes hands",
         {kHalf},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kHalf));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kHalf);
          }}},
        {"both open the first chunk of a page to divide it",
         {},
         {[](P& p, B) { p.free(p.must_allocate(kSmall)); },
          [](P& p, B) { p.must_allocate(kSmall); }}},
        {"a chunk of chunks is taken back as it is entered",
         {kSmall},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kAll));
          },
          [](P& p, B) { p.free(p.allocate(kSmall)); }}},
        {"a chunk of chunks becomes a chunk",
         {kSmall},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kAll));
              p.free(p.allocate(kHalf));
          },
          [](P& p, B) { p.free(p.allocate(kSmall)); }}},
    };
}

Result run(const Scenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // a chunk may be free in a page of another size
    P pool({.bytes = kPool, .callers = 1}, expectations);
    std::vector<void*> blocks;
    for (const std::size_t used : s.blocks) blocks.push_back(pool.prepare(used));
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds, mutation);
}

TEST(ScatterExplorer, IsSound) {
    for (const Scenario& s : scenarios()) {
        expect_nothing_found(run(s, {.preemptions = 3, .stale_reads = 1, .steps = 5000}), s.name);
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(ScatterExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0, .steps = 5000}),
                   {"core.cuh", "fields.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        const Bounds bounds{
            .preemptions = m.fault == Fault::torn ? 2U : 1U, .stale_reads = 1, .steps = 5000};
        for (const Scenario& s : scenarios()) {
            const Result r = run(s, bounds, m);
            if (r.found()) return s.name + (": " + r.finding);
        }
        return std::string();
    });
    // Taking a chunk at once, or not, and closing a field.
    EXPECT_EQ(found[Fault::no_acquire], 3U);
    // Leaving a chunk, opening a field.
    EXPECT_EQ(found[Fault::no_release], 2U);
    // Leaving, taking at once, or not, refilling a slot, holding a field, keeping one and putting
    // it into the slot, closing. Not opening, which no schedule that is tried here interrupts where
    // it would matter; and where slots are emptied or things counted, what comes of it is none the
    // worse.
    EXPECT_EQ(found[Fault::torn], 8U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::scatter_scenarios
