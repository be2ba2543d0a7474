/// @file
/// AWMalloc, step by step: a ring of four granules in two segments, which wraps
/// all the time.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "allocators/awmalloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::awmalloc_scenarios {

namespace {

/// A request's smallest size, and half a segment.
constexpr std::size_t G = allocators::kAlignment;
constexpr std::size_t kPoolBytes = 4 * G;

struct TinyPolicy {
    static constexpr std::uint64_t kMostSegments = 4;
    static constexpr std::uint64_t kSmallestSegment = 2 * G;
    static constexpr std::uint64_t kSmallestPool = G;
    static constexpr std::uint64_t kLastLap = 1000;
};
using Tiny = allocators::RingMalloc<TinyPolicy>;
using P = Pool<Tiny>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    /// In granules: the blocks with which the ring has begun; those that are
    /// negative are freed.
    std::vector<int> blocks;
    std::vector<std::function<void(P&, B)>> threads;
};

/// A request that checks where its block ends, for a pool whose first block was blocks[0].
void* allocate_inside(P& pool, B blocks, std::size_t bytes) {
    void* p = pool.allocate(bytes);
    if (p != nullptr &&
        static_cast<char*>(p) + bytes > static_cast<char*>(blocks[0]) + kPoolBytes) {
        fail("a block reaches beyond the pool");
    }
    return p;
}

std::vector<Scenario> scenarios() {
    return {
        {"two wrap",
         {-1, -1},
         {[](P& p, B) {
              p.free(p.allocate(2 * G));
              p.free(p.allocate(G));
          },
          [](P& p, B) {
              p.free(p.allocate(2 * G));
              p.free(p.allocate(G));
          }}},
        {"a block stays while two come round to it",
         {1, -3},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(2 * G));
          },
          [](P& p, B) {
              p.allocate(G);
              p.free(p.allocate(G));
          }}},
        {"a tail is passed over",
         {-3},
         {[](P& p, B) { p.free(p.allocate(2 * G)); },
          [](P& p, B) {
              p.free(p.allocate(G));
              p.free(p.allocate(2 * G));
          }}},
        {"the pool's end goes to another",
         {-4, -2},
         {[](P& p, B b) { p.free(allocate_inside(p, b, 2 * G)); },
          [](P& p, B) {
              p.free(p.allocate(G));
              p.free(p.allocate(G));
          }}},
        {"large requests meet in the wrap",
         {-1, 1, -2},
         {[](P& p, B b) {
              p.allocate(3 * G);
              p.free(b[1]);
          },
          [](P& p, B) {
              p.free(p.allocate(4 * G));
              p.allocate(G);
          }}},
        {"blocks change hands",
         {1, -3},
         {[](P& p, B b) {
              p.give(0, b[0]);
              p.give(1, p.allocate(G));
              p.allocate(G);
          },
          [](P& p, B) {
              p.free(p.take(1));
              p.free(p.take(0));
              p.allocate(2 * G);
          }}},
        {"three come round",
         {-1, 1, -1, -1},
         {[](P& p, B b) {
              p.free(b[1]);
              p.allocate(G);
          },
          [](P& p, B) { p.free(p.allocate(2 * G)); }, [](P& p, B) { p.free(p.allocate(G)); }}},
    };
}

/// Explores a scenario. After each execution, when all is freed, the ring goes
/// on from wherever it stands, and gives the whole pool.
Result run(const Scenario& s, const Bounds& bounds) {
    Expectations expectations;
    expectations.exact = false;  // memory may be free, but not where the ring stands
    expectations.whole = false;  // asked for below, after a small request
    P pool({.bytes = kPoolBytes}, expectations);
    std::vector<void*> blocks;
    for (const int n : s.blocks) {
        blocks.push_back(pool.prepare(static_cast<std::size_t>(n < 0 ? -n : n) * G));
        if (n < 0) pool.prepare_free(blocks.back());
    }
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    Program program = pool.program(threads);
    program.finish = [&pool, free_all = program.finish] {
        free_all();
        pool.free(pool.must_allocate(G));
        pool.free(pool.must_allocate(kPoolBytes));
    };
    return explore(program, bounds);
}

TEST(AWMallocExplorer, IsSound) {
    for (const Scenario& s : scenarios()) {
        expect_nothing_found(run(s, {.stale_reads = 1, .executions = 1000000}), s.name);
    }
}

}  // namespace

}  // namespace heapwood::tests::explorer::awmalloc_scenarios
