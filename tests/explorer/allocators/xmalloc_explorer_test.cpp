/// @file
/// XMalloc's queues, step by step: threads that take blocks of 16 bytes from the queues of one
/// size, put them back, fill the queues by superblocks of two, and empty them.
///
/// A thread that could go on is interrupted twice at most.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/xmalloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::xmalloc_scenarios {

namespace {

/// Queues of two, and less patience than would be good for anything but a short exploration.
struct ShortPolicy : allocators::XMallocPolicy {
    static constexpr std::uint32_t kPatience = 1;
    static constexpr std::uint32_t kInSuperblock = 2;
    static constexpr std::uint32_t kSlotsShift = 1;
    static constexpr std::uint32_t kStretches = 1;
};

constexpr std::size_t kPoolBytes = 16384;
constexpr std::size_t kBlock = 16;
/// What a thread uses of the whole pool, or the explorer would have too much to watch.
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: blocks of 16 bytes, or the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kBlock ? used : kPoolBytes;
}
using XMalloc = Resized<allocators::BasicXMalloc<ShortPolicy>, bytes>;

using P = Pool<XMalloc>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    unsigned taken;  ///< blocks that are allocated at first
    unsigned freed;  ///< of these, the first ones, which are then in the queue
    std::vector<std::function<void(P&, B)>> threads;
};

std::vector<Scenario> scenarios() {
    const auto take = [](P& p, B) { p.must_allocate(kBlock); };
    const auto use = [](P& p, B) { p.free(p.must_allocate(kBlock)); };
    return {
        {"both fill the queue", 0, 0, {take, take}},
        {"both take the one block in the queue", 2, 1, {take, take}},
        {"both take one of two, and put it back", 4, 2, {use, use}},
        {"one puts in what the other takes out", 2, 0, {[](P& p, B b) { p.free(b[0]); }, use}},
        {"both put into a queue that has room for one",
         3,
         1,
         {[](P& p, B b) { p.free(b[1]); }, [](P& p, B b) { p.free(b[2]); }}},
        {"the queue is filled by one, emptied by another, and used by a third",
         2,
         0,
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B b) { p.free(b[1]); }, use}},
        {"a block changes hands",
         2,
         1,
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kBlock));
              p.free(b[1]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kBlock);
          }}},
        {"the queues are emptied as they are used",
         2,
         2,
         {[](P& p, B) { p.free(p.allocate(kWhole)); },
          // While the other has the whole pool, nothing is left.
          [](P& p, B) { p.free(p.allocate(kBlock)); }}},
    };
}

Result run(const Scenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // blocks in queues are free, but not in one piece
    P pool({.bytes = kPoolBytes}, expectations);
    std::vector<void*> blocks;
    for (unsigned i = 0; i < s.taken; ++i) blocks.push_back(pool.prepare(kBlock));
    for (unsigned i = 0; i < s.freed; ++i) pool.prepare_free(blocks[i]);
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds, mutation);
}

TEST(XMallocExplorer, IsSound) {
    for (const Scenario& s : scenarios()) {
        expect_nothing_found(run(s, {.preemptions = 2, .stale_reads = 1}), s.name);
    }
}

/// Breaks every source line of the queue in every way that applies to it, one at a time.
TEST(XMallocExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0}), {"fifo.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        for (const Scenario& s : scenarios()) {
            const Result r = run(s, {.preemptions = 2, .stale_reads = 1}, m);
            if (r.found()) return s.name + (": " + r.finding);
        }
        return std::string();
    });
    EXPECT_EQ(found[Fault::no_acquire], 1U);
    EXPECT_EQ(found[Fault::no_release], 1U);
    EXPECT_EQ(found[Fault::torn], 2U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::xmalloc_scenarios
