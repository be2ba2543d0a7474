/// @file
/// The Ouroboros allocators, step by step: two threads that open, take and return chunks, leave
/// stray pages, close what is open and collect, in the smallest pool, of 32 chunks with two pages
/// each. The queues alone: ouroboros_explorer_test.cpp.
///
/// A thread that could go on is interrupted once at most, or twice in the scenarios that say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/ouroboros.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::ouroboros_pool_scenarios {

namespace {

using allocators::Context;
using allocators::PoolConfig;

constexpr std::size_t kPoolBytes = 16384;
constexpr unsigned kChunks = 32;
/// Threads use a part of what they ask for, or the explorer would have too much to watch: one byte
/// stands for kScale.
constexpr std::size_t kScale = 32;
constexpr std::size_t kSmall = 128 / kScale;  ///< a page of a quarter of a chunk
constexpr std::size_t kPage = 256 / kScale;   ///< a page of half a chunk
constexpr std::size_t kChunk = 512 / kScale;  ///< a chunk of the list

/// Less patience than would be good for anything but a short exploration.
template <class Base>
struct ShortPolicy : Base {
    static constexpr unsigned kPatience = 2;
    static constexpr std::uint32_t kNeighbours = 1;
    /// Chunks: that of two pages is opened for all, so that there are current chunks.
    static constexpr std::uint32_t kFewPages = Base::kQueuesChunks ? 1 : 4;
};
/// Queues that hold next to nothing, so that pages and chunks become strays.
template <class Base>
struct NarrowPolicy : ShortPolicy<Base> {
    static constexpr std::uint32_t kMostEntries = 1;
    static constexpr std::uint32_t kMostParts = 1;
};

/// An allocator that is asked for kScale times as much, by callers of one multiprocessor.
template <class Policy>
class Scaled : public allocators::ouroboros::Pool<Policy> {
    using Base = allocators::ouroboros::Pool<Policy>;

public:
    struct Ref {
        typename Base::Ref inner;

        void* allocate(const Context&, std::size_t used) const {
            return inner.allocate({0, 0}, bytes(used));
        }
        void deallocate(const Context&, void* p, std::size_t used) const {
            inner.deallocate({0, 0}, p, bytes(used));
        }
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, bytes(used));
        }
        static std::size_t bytes(std::size_t used) { return std::min(used * kScale, kPoolBytes); }
    };

    using Base::Base;
    Ref ref() const { return {Base::ref()}; }
};

template <class Policy>
struct Scenario {
    using P = Pool<Scaled<Policy>>;
    using B = const std::vector<void*>&;

    const char* name;
    unsigned chunks;                  ///< of the list, before `blocks` are taken
    std::vector<std::size_t> blocks;  ///< that are there from the beginning
    std::vector<std::function<void(P&, B)>> threads;
    /// A chunk must be given after both threads have ended.
    bool chunk_at_last = false;
    unsigned preemptions = 1;
};

template <class Policy>
std::vector<Scenario<Policy>> scenarios() {
    using P = typename Scenario<Policy>::P;
    using B = typename Scenario<Policy>::B;
    const auto allocate = [](P& p, B) { p.must_allocate(kPage); };
    const auto free_first = [](P& p, B b) { p.free(b[0]); };
    const auto free_second = [](P& p, B b) { p.free(b[1]); };
    const auto use = [](std::size_t bytes) {
        return [bytes](P& p, B) { p.free(p.allocate(bytes)); };
    };
    const auto free_and_use = [](std::size_t bytes) {
        return [bytes](P& p, B b) {
            p.free(b[0]);
            p.free(p.allocate(bytes));
        };
    };
    return {
        {"both allocate", kChunks, {}, {allocate, allocate}},
        {"both free the pages of the open chunk",
         kChunks,
         {kPage, kPage},
         {free_first, free_second}},
        {"both free the pages of a closed chunk",
         kChunks,
         {kPage, kPage, kPage},
         {free_first, free_second}},
        {"both free and allocate",
         kChunks,
         {kPage, kPage, kPage, kPage},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kPage);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kPage);
          }}},
        {"a chunk is freed as a page is taken",
         kChunks,
         {kPage, kPage, kPage, kPage},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
          },
          allocate}},
        {"a page changes hands",
         kChunks,
         {kPage},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kPage));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.free(p.must_allocate(kPage));
          }}},
        {"in a full pool a page is freed and wanted", 1, {kPage, kPage}, {free_first, use(kPage)}},
        {"both free the only chunk, and one wants it",
         1,
         {kPage, kPage},
         {free_and_use(kChunk), free_second}},
        {"one collects as the other allocates", 1, {kPage}, {free_and_use(kChunk), use(kPage)}},
        {"both collect", 1, {kPage}, {free_and_use(kChunk), use(kChunk)}},
        {"one collects for another class as the other allocates",
         1,
         {kPage},
         {free_and_use(kSmall), use(kPage)}},
        {"a collection does not see a page that is being put",
         1,
         {kPage, kPage},
         {free_and_use(kChunk), free_second},
         true,
         2},
    };
}

template <class Policy>
Result run(const Scenario<Policy>& s, Bounds bounds, const Mutation& mutation = {}) {
    using P = typename Scenario<Policy>::P;
    Expectations expectations;
    expectations.exact = false;  // pages may be free in chunks of another size
    P pool({.bytes = kPoolBytes, .callers = 1}, expectations);
    // What is not to be had is taken in large blocks, over which the list steps at once.
    unsigned left = kChunks;
    for (const unsigned n : {8U, 6U, 6U, 6U, 3U, 1U, 1U}) {
        if (left <= s.chunks) break;
        pool.prepare(n * kChunk);
        left -= n;
    }
    std::vector<void*> blocks;
    for (const std::size_t used : s.blocks) blocks.push_back(pool.prepare(used));
    std::vector<typename P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    Program program = pool.program(threads);
    if (s.chunk_at_last) {
        program.finish = [&pool, rest = program.finish] {
            pool.must_allocate(kChunk);
            rest();
        };
    }
    return explore(program, bounds, mutation);
}

template <class Policy>
class OuroborosPoolExplorer : public ::testing::Test {};
using Policies = ::testing::Types<
    ShortPolicy<allocators::OuroborosPSPolicy>, ShortPolicy<allocators::OuroborosPVAPolicy>,
    ShortPolicy<allocators::OuroborosCSPolicy>, ShortPolicy<allocators::OuroborosCVLPolicy>,
    NarrowPolicy<allocators::OuroborosPSPolicy>, NarrowPolicy<allocators::OuroborosCVAPolicy>>;
TYPED_TEST_SUITE(OuroborosPoolExplorer, Policies);

TYPED_TEST(OuroborosPoolExplorer, IsSound) {
    for (const auto& s : scenarios<TypeParam>()) {
        for (const unsigned stale : {0U, 1U}) {
            const unsigned preemptions = stale == 0 ? s.preemptions : 1;
            expect_nothing_found(
                run(s, {.preemptions = preemptions, .stale_reads = stale, .steps = 6000}),
                TypeParam::traits().name + (std::string(": ") + s.name));
        }
    }
}

/// Breaks the memory order of every source line of chunks, one at a time, where there is but one
/// chunk.
TEST(OuroborosPoolFaults, OfMemoryOrderAreFound) {
    using Policy = ShortPolicy<allocators::OuroborosPVAPolicy>;
    Places places;
    std::vector<Scenario<Policy>> full = scenarios<Policy>();
    std::erase_if(full, [](const auto& s) { return s.chunks != 1; });
    for (const auto& s : full) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0, .steps = 6000}),
                   {"chunks.cuh"});
    }
    auto found = break_each(places,
                            [](const Mutation& m) {
                                for (const auto& s : scenarios<Policy>()) {
                                    const Result r = run(
                                        s, {.preemptions = 1, .stale_reads = 1, .steps = 6000}, m);
                                    if (r.found()) return s.name + (": " + r.finding);
                                }
                                return std::string();
                            },
                            {Fault::no_acquire, Fault::no_release});
    // Taking a page, and a whole chunk. What the list says, its own words order as well.
    EXPECT_EQ(found[Fault::no_acquire], 2U);
    // Freeing a page: by its bit, and by the chunk's number.
    EXPECT_EQ(found[Fault::no_release], 2U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::ouroboros_pool_scenarios
