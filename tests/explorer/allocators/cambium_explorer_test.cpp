/// @file
/// Cambium's blocks, step by step: two threads that cut, open, close and return the blocks of
/// the smallest pool, which they share, or keep in a cache that they share, or in one of their own.
///
/// A thread that could go on is interrupted three times at most.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/cambium.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::cambium_scenarios {

namespace {

using allocators::CallerCache;
using allocators::Cambium;
using allocators::Context;
using allocators::PoolConfig;

/// Blocks are of 512 bytes.
constexpr std::size_t kPoolBytes = 32 * 512;
/// A thread uses so little of what it has, or the explorer would have too much to watch.
constexpr std::size_t kUsedPart = 32;
constexpr std::size_t kHalf = 256 / kUsedPart;
constexpr std::size_t kQuarter = 128 / kUsedPart;
constexpr std::size_t kBlock = 512 / kUsedPart;
constexpr std::size_t kPool = kPoolBytes / kUsedPart;

/// Cambium, whose first two callers, if there are two, have a cache each or share one, as
/// PoolConfig::cache_users says. Of what is asked for, kUsedPart times as much is given, but at
/// most the pool.
class WithCaches : public Cambium {
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
        void flush() const {
            for (std::uint32_t warp = 0; warp < 2; ++warp) inner.flush(with_cache({0, warp}));
        }

        static std::size_t bytes(std::size_t used) {
            return std::min(used * kUsedPart, kPoolBytes);
        }
        Context with_cache(Context context) const {
            if (users > 0 && context.warp < 2) context.cache = caches + context.warp / users;
            return context;
        }

        Cambium::Ref inner;
        CallerCache* caches;
        std::uint32_t users;  ///< of a cache; 0: there is none
    };

    explicit WithCaches(const PoolConfig& config)
        : Cambium(config), users_(config.callers == 2 ? config.cache_users : 0) {}
    Ref ref() const { return {Cambium::ref(), caches_, users_}; }

private:
    mutable CallerCache caches_[2]{};
    std::uint32_t users_;
};

using P = Pool<WithCaches>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    unsigned blocks;                  ///< that are not in use from beginning to end
    std::vector<std::size_t> pieces;  ///< that are there from the beginning
    std::vector<std::function<void(P&, B)>> threads;
    bool apart = false;  ///< in caches, each thread has one of its own
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
        {"a run of blocks and its tail",
         3,
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kBlock + kHalf));
          },
          [](P& p, B) {
              p.allocate(kBlock + kQuarter);
              p.allocate(kQuarter);
          }}},
        {"two runs want the same blocks",
         3,
         {},
         {[](P& p, B) { p.free(p.allocate(2 * kBlock)); },
          [](P& p, B) { p.free(p.allocate(2 * kBlock)); }}},
        {"a run loses one of its blocks",
         3,
         {},
         {[](P& p, B) { p.free(p.must_allocate(kBlock)); },
          [](P& p, B) { p.free(p.must_allocate(2 * kBlock)); }}},
        {"one wants more than what is left untouched",
         1,
         {},
         {[](P& p, B) { p.allocate(2 * kBlock); }, [](P& p, B) { p.must_allocate(kBlock); }},
         true},
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

/// Where the threads have their open blocks, and where blocks are free.
struct Setting {
    bool cached;     ///< in caches, or in a table
    bool untouched;  ///< the free blocks are untouched, or in the map
};
constexpr Setting kSettings[] = {{false, false}, {false, true}, {true, false}, {true, true}};

Result run(const Scenario& s, Setting setting, const Bounds& bounds,
           const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // a region is a block, with whatever pieces
    // One table entry for open blocks: the threads meet there.
    P pool({.bytes = kPoolBytes,
            .callers = setting.cached ? 2U : 1U,
            .cache_users = s.apart ? 1U : 2U},
           expectations);
    // Of the untouched blocks a request for more than there are puts all in the map.
    std::vector<unsigned> runs{17, 6, 6, 1, 1};
    if (setting.untouched) {
        runs.assign(16, 1);
        runs.insert(runs.end(), {7, 6, 1, 1});
    }
    for (unsigned used = 0; const unsigned blocks : runs) {
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

TEST(CambiumExplorer, IsSound) {
    for (const Setting setting : kSettings) {
        for (const Scenario& s : scenarios()) {
            expect_nothing_found(run(s, setting, {.preemptions = 3, .stale_reads = 1}),
                                 std::string(setting.cached ? "cached" : "shared") +
                                     (setting.untouched ? ", untouched: " : ": ") + s.name);
        }
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(CambiumExplorer, FindsFaults) {
    Places places;
    for (const Setting setting : kSettings) {
        for (const Scenario& s : scenarios()) {
            add_places(places, run(s, setting, {.preemptions = 1, .stale_reads = 0}),
                       {"blocks.cuh", "core.cuh", "open_block.cuh", "own_words.cuh"});
        }
    }
    auto found = break_each(places, [](const Mutation& m) {
        const unsigned preemptions = m.fault == Fault::torn ? 2 : 1;
        std::string where;
        for (const Setting setting : kSettings) {
            if (!where.empty()) break;
            where = first_broken(scenarios(), [&](const Scenario& s) {
                return run(s, setting, {.preemptions = preemptions, .stale_reads = 1}, m);
            });
        }
        return where;
    });
    // Clearing bits of the map; taking a spare block, or a piece, also in place of opening a block;
    // the last free. The order of the other places is that of the operations that they are made of.
    EXPECT_EQ(found[Fault::no_acquire], 5U);
    // Freeing units; setting bits of the map, but those of a run that was lost; opening a block;
    // putting one aside.
    EXPECT_EQ(found[Fault::no_release], 4U);
    // All but that of a flush, during which nobody else uses the cache, and of putting aside.
    EXPECT_EQ(found[Fault::torn], 9U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::cambium_scenarios
