/// @file
/// The slabs of LLVM's libc, step by step: two threads that enter, search, leave, close and open
/// slabs of 1 KiB with four pieces of 256 bytes, or those of other classes, with a slot for each
/// class.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/llvm_libc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::llvm_libc_scenarios {

namespace {

/// Less patience, and fewer tries, than would be good for anything but a short exploration.
struct ShortPolicy : allocators::LlvmLibcPolicy {
    static constexpr std::uint32_t kPatience = 1;
    static constexpr std::uint32_t kRounds = 4;
    static constexpr std::uint32_t kTries = 1;
    static constexpr std::uint32_t kStretches = 1;
    static constexpr std::uint32_t kStretchesTogether = 1;
};
constexpr std::size_t kPoolBytes = 16384;
constexpr unsigned kPieces = 4;
// What a thread uses of them, or the explorer would have too much to watch.
constexpr std::size_t kTiny = 12;
constexpr std::size_t kPiece = 16;
constexpr std::size_t kSlab = 20;
constexpr std::size_t kOther = 24;
constexpr std::size_t kHalf = 28;
constexpr std::size_t kWhole = 32;

/// The bytes to ask for: a piece of 1/64 or 1/4 of a slab, what takes the place of a slab, a piece
/// of 1/8, what takes that of half a slab, or the whole pool.
std::size_t bytes(std::size_t used) {
    return used <= kTiny    ? 16
           : used <= kPiece ? 256
           : used <= kSlab  ? 1024
           : used <= kOther ? 128
           : used <= kHalf  ? 512
                            : kPoolBytes;
}
using LlvmLibc = Resized<allocators::BasicLlvmLibc<ShortPolicy>, bytes>;

using P = Pool<LlvmLibc>;
using B = const std::vector<void*>&;

struct Scenario {
    const char* name;
    bool full;                   ///< the rest of the pool is in use from beginning to end
    unsigned taken;              ///< blocks that are allocated at first
    std::vector<unsigned> left;  ///< of these, the ones that are not freed again
    std::vector<std::function<void(P&, B)>> threads;
    std::size_t used = kPiece;  ///< of these blocks
    bool in_turn = false;       ///< threads end before others begin
};

std::vector<Scenario> scenarios() {
    const auto wants = [](P& p, B) { p.allocate(kPiece); };
    const auto wants_two = [](P& p, B) {
        p.allocate(kPiece);
        p.allocate(kPiece);
    };
    const auto must_get = [](P& p, B) { p.must_allocate(kPiece); };
    const auto frees_first = [](P& p, B b) { p.free(b[0]); };
    return {
        {"both enter the slot's slab",
         false,
         1,
         {0},
         {[](P& p, B) { p.free(p.must_allocate(kPiece)); }, must_get}},
        {"both open the first slab", false, 0, {}, {must_get, must_get}},
        {"both find the last piece", false, kPieces, {1, 2, 3}, {must_get, must_get}},
        {"a piece is freed as another is searched for",
         false,
         kPieces,
         {1, 2, 3},
         {frees_first, must_get}},
        {"a piece changes hands",
         false,
         1,
         {0},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kPiece));
              p.free(b[0]);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kPiece);
          }}},
        {"the last piece of a slab is freed as the slab is entered",
         true,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {frees_first, wants}},
        {"the last piece of a slab is freed, and a piece wanted, by each",
         true,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kPiece));
          },
          [](P& p, B) { p.free(p.allocate(kPiece)); }}},
        {"both bring a slab's count to nothing, and want its memory",
         true,
         2 * kPieces,
         {0, 1, 4, 5, 6, 7},
         {frees_first,
          [](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kSlab));
          }}},
        {"an idle slab is taken off its slot as it is entered",
         false,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); },
          [](P& p, B) { p.free(p.allocate(kPiece)); }}},
        {"both take an idle slab off its slot",
         false,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); },
          [](P& p, B) { p.free(p.allocate(kWhole)); }}},
        {"a slab is of another class when it is entered, and is closed meanwhile",
         true,
         1,
         {},
         {[](P& p, B) {
              p.free(p.allocate(kOther));
              p.free(p.allocate(kSlab));
          },
          wants}},
        {"the slab that is freed is opened by another class",
         true,
         2 * kPieces,
         {0, 4, 5, 6, 7},
         {frees_first, [](P& p, B) { p.allocate(kOther); }, wants}},
        // The third piece lies where the one that was freed was, whose bit is in another word.
        {"an entry tells what was done to the slab when its pieces were smaller",
         true,
         33,
         {32},
         {frees_first, wants_two, wants},
         kTiny,
         true},
        // The third piece lies where the second block was.
        {"an entry tells what was done to the slab when it was large blocks",
         true,
         2,
         {0, 1},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
          },
          wants_two, wants},
         kHalf,
         true},
        {"memory returns to the list as it is searched in vain",
         true,
         1,
         {0},
         {[](P& p, B b) {
              p.free(b[0]);
              p.give(0, b[0]);
          },
          [](P& p, B) {
              void* first = p.allocate(kPiece);
              if (p.take(0) != nullptr && first == nullptr) p.must_allocate(kPiece);
          }},
         kSlab},
    };
}

Result run(const Scenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // threads use less than they ask for
    P pool({.bytes = kPoolBytes}, expectations);
    // A slab at the start of a stretch would merge with nothing, and could be returned twice.
    if (s.full) pool.prepare(kSlab);
    std::vector<void*> taken;
    for (unsigned i = 0; i < s.taken; ++i) taken.push_back(pool.prepare(s.used));
    std::vector<void*> pieces;
    // Idle slabs must not be taken to fill the pool.
    try {
        while (s.full) pool.prepare(kSlab);
    } catch (const std::invalid_argument&) {
        // Now it is.
    }
    for (unsigned i = 0; i < s.taken; ++i) {
        if (std::find(s.left.begin(), s.left.end(), i) != s.left.end()) {
            pieces.push_back(taken[i]);
        } else {
            pool.prepare_free(taken[i]);
        }
    }
    std::vector<P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, pieces); });
    return explore(pool.program(threads), bounds, mutation);
}

/// A thread that could go on is interrupted twice at most; once where the pool is full, for then a
/// request searches long.
Bounds bounds_of(const Scenario& s) {
    const unsigned preemptions = s.in_turn ? 0 : s.full ? 1 : 2;
    return {.preemptions = preemptions, .stale_reads = 1, .steps = 2000};
}

TEST(LlvmLibcExplorer, IsSound) {
    for (const Scenario& s : scenarios()) {
        expect_nothing_found(run(s, bounds_of(s)), s.name);
    }
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(LlvmLibcExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0}),
                   {"core.cuh", "slab_list.cuh", "slabs.cuh"});
    }
    auto found = break_each(places, [](const Mutation& m) {
        return first_broken(scenarios(),
                            [&](const Scenario& s) { return run(s, bounds_of(s), m); });
    });
    // Entering; taking a piece, in two places; closing a slab.
    EXPECT_EQ(found[Fault::no_acquire], 4U);
    // Leaving, freeing a piece, opening a slab.
    EXPECT_EQ(found[Fault::no_release], 3U);
    // All but the end of a slot's mark and the count of what has returned, which are hints.
    EXPECT_EQ(found[Fault::torn], 13U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::llvm_libc_scenarios
