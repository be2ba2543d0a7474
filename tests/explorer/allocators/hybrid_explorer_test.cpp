/// @file
/// Hybrid's open blocks, step by step: two threads that cut, open, close and return the blocks of
/// the smallest pool, which they share, or keep in a cache that they share.
///
/// A thread that could go on is interrupted three times at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/hybrid.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::hybrid_scenarios {

namespace {

using allocators::CallerCache;
using allocators::Context;
using allocators::Hybrid;
using allocators::PoolConfig;

/// Blocks are of 512 bytes, pieces of at most half of them.
constexpr std::size_t kPoolBytes = 32 * 512;
/// A thread uses so little of what it has, or the explorer would have too much to watch.
constexpr std::size_t kUsedPart = 32;
constexpr std::size_t kHalf = 256 / kUsedPart;
constexpr std::size_t kQuarter = 128 / kUsedPart;
constexpr std::size_t kPool = kPoolBytes / kUsedPart;

/// Hybrid, whose first two callers share a cache if there are two. Of what is asked for,
/// kUsedPart times as much is given, but at most the pool.
class OneCache : public Hybrid {
public:
    struct Ref {
        void* allocate(const Context& context, std::size_t used) const {
            return inner.allocate(with_cache(context), bytes(used));
        }
        void deallocate(const Context& context, void* p, std::size_t used) const {
            inner.deallocate(with_cache(context), p, bytes(used));
        }
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, bytes(used));
        }
        void flush() const { inner.flush(with_cache({0, 0})); }

        static std::size_t bytes(std::size_t used) {
            return std::min(used * kUsedPart, kPoolBytes);
        }
        Context with_cache(Context context) const {
            if (context.warp < 2) context.cache = cache;
            return context;
        }

        Hybrid::Ref inner;
        CallerCache* cache;
    };

    explicit OneCache(const PoolConfig& config) : Hybrid(config), cached_(config.callers == 2) {}
    Ref ref() const { return {Hybrid::ref(), cached_ ? &cache_ : nullptr}; }

private:
    bool cached_;
    mutable CallerCache cache_{};
};

using P = Pool<OneCache>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    unsigned blocks;                  ///< that are not in use from beginning to end
    std::vector<std::size_t> pieces;  ///< that are there from the beginning
    std::vector<std::function<void(P&, B)>> threads;
};

std::vector<Scenario> scenarios() {
    return {
        {"both open the first block",
         32,
         {},
         {[](P& p, B) { p.free(p.must_allocate(kHalf)); },
          [](P& p, B) { p.must_allocate(kQuarter); }}},
        {"the last free meets the close",
         32,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kHalf);
          },
          [](P& p, B b) { p.free(b[1]); }}},
        {"both want more than the rest",
         32,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kHalf);
          },
          [](P& p, B b) {
              p.must_allocate(kHalf);
              p.free(b[0]);
          }}},
        {"a returned block is opened again",
         32,
         {kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kHalf);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kQuarter);
          }}},
        {"a piece changes hands",
         32,
         {kHalf},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kHalf));
              p.free(b[0]);
              p.must_allocate(kQuarter);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kHalf);
          }}},
        {"an idle block is closed as it is used",
         32,
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kPool));
          },
          [](P& p, B) { p.free(p.allocate(kQuarter)); }}},
        {"the only block is used again",
         1,
         {kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kHalf);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.allocate(kHalf);
          }}},
        {"both want half of the last block",
         1,
         {},
         {[](P& p, B) { p.must_allocate(kHalf); }, [](P& p, B) { p.must_allocate(kHalf); }}},
        {"one of two blocks is used again",
         2,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kHalf);
              p.must_allocate(kHalf);
              p.allocate(kHalf);
          },
          [](P& p, B b) { p.free(b[0]); }}},
        {"either frees last and asks first",
         2,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kHalf));
              p.allocate(kHalf);
          },
          [](P& p, B b) {
              p.free(b[0]);
              p.allocate(kHalf);
          }}},
    };
}

Result run(const Scenario& s, bool cached, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // a region is a block, with whatever pieces
    // One table entry for open blocks: the threads meet there.
    P pool({.bytes = kPoolBytes, .callers = cached ? 2U : 1U}, expectations);
    // The chunks into which the pool is cut from the start, so that no more is given than asked.
    for (unsigned used = 0; const unsigned blocks : {8U, 6U, 6U, 6U, 3U, 1U, 1U}) {
        used += blocks;
        if (used <= 32 - s.blocks) pool.prepare(kPool / 32 * blocks);
    }
    std::vector<void*> pieces;
    for (const std::size_t bytes : s.pieces) pieces.push_back(pool.prepare(bytes));
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, pieces); });
    Program program = pool.program(threads);
    program.finish = [&pool, rest = program.finish] {
        begin_operation("flush", 0);
        pool.allocator().ref().flush();
        end_operation(0);
        rest();
    };
    return explore(program, bounds, mutation);
}

TEST(HybridExplorer, IsSound) {
    for (const bool cached : {false, true}) {
        for (const Scenario& s : scenarios()) {
            expect_nothing_found(run(s, cached, {.preemptions = 3, .stale_reads = 1}),
                                 std::string(cached ? "cached: " : "shared: ") + s.name);
        }
    }
}

Places places() {
    Places all;
    for (const bool cached : {false, true}) {
        for (const Scenario& s : scenarios()) {
            add_places(all, run(s, cached, {.preemptions = 1, .stale_reads = 0}), {"blocks.cuh"});
        }
    }
    return all;
}
/// The first scenario in which a mutation is found; "": in none.
std::string where_found(const Mutation& m) {
    const unsigned preemptions = m.fault == Fault::torn ? 2 : 1;
    std::string where;
    for (const bool cached : {false, true}) {
        if (!where.empty()) break;
        where = first_broken(scenarios(), [&](const Scenario& s) {
            return run(s, cached, {.preemptions = preemptions, .stale_reads = 1}, m);
        });
    }
    return where;
}

/// A request says that it is about to take a block before it does, whatever a machine may put off.
TEST(HybridExplorer, LateWritesAreHarmless) {
    expect_late_writes_are_harmless(places(), where_found);
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(HybridExplorer, FindsFaults) {
    auto found = break_each(places(), where_found);
    // Taking a piece, taking a spare block, returning a block, waiting for one to be opened.
    EXPECT_EQ(found[Fault::no_acquire], 4U);
    // Opening a block, and saying so; putting one aside; freeing a piece. The order of the other
    // places is that of the operations that they are made of; what they pass on, these four have
    // passed on already.
    EXPECT_EQ(found[Fault::no_release], 4U);
    // All but that of a flush, during which nobody else uses the cache.
    EXPECT_EQ(found[Fault::torn], 9U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::hybrid_scenarios
