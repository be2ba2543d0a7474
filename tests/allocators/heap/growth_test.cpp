/// @file
/// How a pool grows by itself, whatever its allocator: what the limits make of requests, callers
/// whose host does not answer, and lanes of a warp that wait.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "allocators/cambium.cuh"
#include "allocators/heap.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/heap/growth_words.cuh"
#include "allocators/memory/beside_kernels.h"
#include "allocators/platform/device.h"
#include "tests/allocators/heap/growth_checks.h"

namespace heapwood::tests {
namespace {

using allocators::Cambium;
using allocators::Growing;
using allocators::GrowthLimits;
using allocators::Place;
using allocators::heap::GrowthCaller;
using allocators::heap::GrowthWords;
using allocators::heap::kMostParts;
using allocators::heap::Mailbox;
using allocators::heap::NextPart;
using allocators::heap::PartsAndBytes;

constexpr std::uint64_t kMiB = 1 << 20;

TEST(GrowthLimits, MakeThePartThatIsAskedFor) {
    const GrowthLimits limits{.step = kMiB, .most = 10 * kMiB};
    const NextPart second(limits, 1, 2 * kMiB, 4096);
    EXPECT_EQ(second.left, 8 * kMiB);
    EXPECT_EQ(second.bytes_for(16), kMiB);
    EXPECT_EQ(second.bytes_for(3 * kMiB), 6 * kMiB + 4096);
    EXPECT_EQ(second.bytes_for(5 * kMiB), 8 * kMiB);
    EXPECT_EQ(NextPart(limits, 3, 10 * kMiB - 5000, 4096).bytes_for(16), 5000U);
    EXPECT_EQ(NextPart(limits, 3, 10 * kMiB - 4095, 4096).left, 0U);
    EXPECT_EQ(NextPart(limits, 3, 11 * kMiB, 4096).left, 0U);
    EXPECT_EQ(NextPart(limits, kMostParts, kMiB, 4096).left, 0U);
}

TEST(GrowthLimits, ReachTheMostByTheLastPart) {
    const GrowthLimits limits{.step = kMiB, .most = (std::uint64_t{8} << 30) + 12345};
    std::uint64_t pool = 64 * kMiB;
    std::uint32_t parts = 1;
    for (; parts < kMostParts; ++parts) pool += NextPart(limits, parts, pool, 4096).bytes_for(1);
    EXPECT_EQ(pool, limits.most);
}

TEST(GrowthCaller, WaitsNoLongerThanItsPatienceAndNotAgain) {
    GrowthWords words{};
    Mailbox mailbox{};
    words.known = PartsAndBytes{1, PartsAndBytes::kNoBytes}.word();
    mailbox.answer = words.known;
    const GrowthCaller hasty{&words, &mailbox, 1000};
    std::uint64_t deadline = 0;
    EXPECT_EQ(hasty.more_parts(1, 100, deadline), 1U);
    EXPECT_NE(deadline, 0U);
    EXPECT_EQ(PartsAndBytes::of(mailbox.request).parts, 1U);
    EXPECT_EQ(PartsAndBytes::of(mailbox.request).bytes, 100U);
    // Callers after it do not wait, but a larger request is posted.
    const GrowthCaller patient{&words, &mailbox, ~std::uint64_t{0} / 2};
    EXPECT_EQ(patient.more_parts(1, 200, deadline), 1U);
    EXPECT_EQ(PartsAndBytes::of(mailbox.request).bytes, 200U);
    EXPECT_EQ(patient.more_parts(1, 100, deadline), 1U);
    EXPECT_EQ(PartsAndBytes::of(mailbox.request).bytes, 200U);
    // What comes late is found.
    mailbox.answer = PartsAndBytes{2, PartsAndBytes::kNoBytes}.word();
    EXPECT_EQ(patient.more_parts(1, 100, deadline), 2U);
    EXPECT_EQ(words.known, mailbox.answer);
    // A refusal is known without a wait, and ends at its size.
    mailbox.answer = PartsAndBytes{2, 50}.word();
    EXPECT_EQ(patient.more_parts(2, 50, deadline), 2U);
    mailbox.answer = PartsAndBytes{3, 50}.word();
    EXPECT_EQ(patient.more_parts(2, 49, deadline), 3U);
}

TEST(Growth, OfLanesOfWarps) {
    check_growth_under_threads<Cambium, LockstepMachine>();
}

TEST(Growth, GoesOnAfterAMove) {
    allocators::Heap<Growing<Cambium>> first({.bytes = kMiB, .place = Place::host});
    first.allocator().grow_automatically(
        {.step = kMiB, .most = 64 * kMiB, .patience = kLongPatience});
    const auto heap = first.ref();
    allocators::Heap<Growing<Cambium>> owner(std::move(first));
    Growing<Cambium> moved(std::move(owner.allocator()));
    void* const block = heap.malloc(5 * kMiB);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(moved.part_count(), 2U);
    heap.free(block);
    // Between two uses it is grown by hand, too. Then a refusal is a matter of the past.
    EXPECT_EQ(heap.malloc(65 * kMiB), nullptr);
    EXPECT_NE(moved.growth_refusal(), "");
    moved.grow(2 * kMiB);
    EXPECT_EQ(moved.growth_refusal(), "");
    EXPECT_EQ(moved.part_count(), 3U);
    void* const larger = heap.malloc(15 * kMiB);
    EXPECT_NE(larger, nullptr);
    EXPECT_EQ(moved.part_count(), 4U);
}

TEST(Growth, BesideKernelsNeedsAGpu) {
    if (platform::device_available()) GTEST_SKIP() << "there is a GPU";
    EXPECT_THROW(allocators::BesideKernels(), std::runtime_error);
}

}  // namespace
}  // namespace heapwood::tests
