/// @file
/// The slabs of LLVM's libc, step by step: two threads that enter, search, leave, close and open
/// slabs of 1 KiB with four pieces of 256 bytes, or those of other classes, with a slot for each
/// class.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocators/llvm_libc.cuh"
#include "tests/explorer/allocators/pool_scenarios.h"
#include "tests/explorer/allocators/slab_scenarios.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/resized.h"

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
using P = Pool<Resized<allocators::BasicLlvmLibc<ShortPolicy>, slabs::bytes>>;
using slabs::kPiece;
using slabs::kSlab;
using slabs::kWhole;
constexpr unsigned kSteps = 2000;

std::vector<slabs::Scenario<P>> scenarios() {
    using B = Blocks;
    return slabs::scenarios<P>({
        {"both take an idle slab off its slot",
         kRoomy,
         1,
         {},
         {[](P& p, B) { p.free(p.allocate(kWhole)); },
          [](P& p, B) { p.free(p.allocate(kWhole)); }}},
        {"memory returns to the list as it is searched in vain",
         kFull,
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
    });
}

TEST(LlvmLibcExplorer, IsSound) {
    expect_sound(scenarios(), kSteps);
}

/// Breaks every source line of the allocator in every way that applies to it, one at a time.
TEST(LlvmLibcExplorer, FindsFaults) {
    const Places places =
        places_of(scenarios(), {"core.cuh", "slab_list.cuh", "slabs.cuh"}, kSteps);
    auto found =
        break_each(places, [](const Mutation& m) { return broken_by(m, scenarios(), kSteps); });
    // Entering; taking a piece, in two places; closing a slab.
    EXPECT_EQ(found[Fault::no_acquire], 4U);
    // Leaving, freeing a piece, opening a slab.
    EXPECT_EQ(found[Fault::no_release], 3U);
    // All but the end of a slot's mark and the count of what has returned, which are hints.
    EXPECT_EQ(found[Fault::torn], 13U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::llvm_libc_scenarios
