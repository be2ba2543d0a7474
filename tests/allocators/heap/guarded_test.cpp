/// @file
/// Guarded heaps: each mistake is planted and found, and a program without mistakes is clean.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/circular.cuh"
#include "allocators/heap/guarded.cuh"
#include "allocators/llvm_libc.cuh"
#include "tests/allocators/heap/heap_checks.h"

namespace heapwood::tests {
namespace {

using allocators::GuardedHeap;
using allocators::HeapConfig;
using allocators::HeapFault;
using allocators::HeapFinding;
using allocators::HeapReport;
using allocators::Place;

HeapConfig on_host(std::uint64_t bytes = kHeapBytes) {
    return {.bytes = bytes, .place = Place::host};
}

template <class A>
class Guarded : public ::testing::Test {};
using Below = ::testing::Types<allocators::Cambium, allocators::CMalloc, allocators::LlvmLibc>;
TYPED_TEST_SUITE(Guarded, Below);

/// Expects one fault, and none of another kind.
void expect_fault(const HeapReport& report, HeapFault fault, const void* block, std::uint64_t bytes,
                  std::uint32_t tag) {
    EXPECT_FALSE(report.is_clean());
    for (std::uint32_t i = 0; i < allocators::kHeapFaults; ++i) {
        EXPECT_EQ(report.counts[i], i == static_cast<std::uint32_t>(fault) ? 1U : 0U) << i;
    }
    ASSERT_EQ(report.faults.size(), 1U);
    EXPECT_EQ(report.faults[0].fault, fault);
    EXPECT_EQ(report.faults[0].address, reinterpret_cast<std::uintptr_t>(block));
    EXPECT_EQ(report.faults[0].bytes, bytes);
    EXPECT_EQ(report.faults[0].tag, tag);
    EXPECT_NE(allocators::to_text(report), "");
}

TYPED_TEST(Guarded, FindsEveryByteBesideABlock) {
    GuardedHeap<TypeParam> owner(on_host());
    const auto heap = owner.ref().tagged(7);
    for (const std::size_t bytes : {0, 1, 15, 16, 100, 5000}) {
        for (const std::size_t alignment : {16, 64, 4096}) {
            for (const int at : {-32, -1, 0, 1, 15, 31}) {
                auto* const block = static_cast<char*>(heap.aligned_alloc(alignment, bytes));
                ASSERT_NE(block, nullptr);
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
                EXPECT_EQ(heap.usable_size(block), bytes);
                std::memset(block, 0, bytes);
                char& hit = at < 0 ? block[at] : block[bytes + static_cast<std::size_t>(at)];
                hit = static_cast<char>(hit + 1);
                heap.free(block);
                expect_fault(owner.report(),
                             at < 0 ? HeapFault::written_before : HeapFault::written_behind, block,
                             bytes, 7);
                owner.reset();
                EXPECT_TRUE(owner.report().is_clean());
                EXPECT_EQ(allocators::to_text(owner.report()), "");
            }
        }
    }
}

TYPED_TEST(Guarded, FindsWhatIsWrittenAfterTheFree) {
    for (const std::size_t at : {0, 50, 99}) {
        GuardedHeap<TypeParam> owner(on_host(), 0, 4);
        const auto heap = owner.ref().tagged(3);
        auto* const block = static_cast<char*>(heap.malloc(100));
        heap.free(block);
        block[at] = 1;
        for (int i = 0; i < 3; ++i) heap.free(heap.malloc(10));
        EXPECT_TRUE(owner.report().is_clean()) << "it is still kept";
        heap.free(heap.malloc(10));
        expect_fault(owner.report(), HeapFault::written_freed, block, 100, 3);
    }
}

TYPED_TEST(Guarded, FindsFreesOfWhatIsFreeAndOfWhatIsNoBlock) {
    GuardedHeap<TypeParam> owner(on_host());
    const auto heap = owner.ref();
    auto* const block = static_cast<char*>(heap.malloc(100));
    heap.free(block);
    heap.tagged(5).free(block);
    expect_fault(owner.report(), HeapFault::freed_twice, block, 0, 5);
    owner.reset();
    auto* const other = static_cast<char*>(heap.malloc(100));
    heap.tagged(6).free(other + 16);
    expect_fault(owner.report(), HeapFault::not_a_block, other + 16, 0, 6);
    owner.reset();
    int local = 0;
    heap.free(&local);
    expect_fault(owner.report(), HeapFault::not_a_block, &local, 0, 0);
    owner.reset();
    EXPECT_EQ(heap.realloc(&local, 5), nullptr);
    expect_fault(owner.report(), HeapFault::not_a_block, &local, 0, 0);
    EXPECT_EQ(heap.usable_size(&local), 0U);
    EXPECT_EQ(heap.usable_size(nullptr), 0U);
    heap.free(nullptr);
}

TYPED_TEST(Guarded, ListsWhatIsInUseByItsTag) {
    GuardedHeap<TypeParam> owner(on_host());
    std::vector<void*> blocks;
    for (std::uint32_t tag = 1; tag <= 3; ++tag) {
        for (std::uint32_t i = 0; i < tag; ++i) {
            blocks.push_back(owner.ref().tagged(tag).malloc(100 * tag));
        }
    }
    owner.ref().free(blocks[0]);
    const HeapReport report = owner.report();
    EXPECT_TRUE(report.is_clean());
    ASSERT_EQ(report.leaks.size(), 5U);
    for (const HeapFinding& leak : report.leaks) EXPECT_EQ(leak.bytes, 100 * leak.tag);
    EXPECT_EQ(allocators::to_text(report),
              "in use: 2 blocks of 400 bytes, tag 2\nin use: 3 blocks of 900 bytes, tag 3\n");
}

TYPED_TEST(Guarded, IsCleanForAProgramWithoutMistakes) {
    GuardedHeap<TypeParam> owner(on_host(2 * kHeapBytes), 0, 50);
    const std::uint64_t seed = test_seed();
    for (unsigned run = 0; run < 2; ++run) {
        const CallTally serial = run_calls<SerialMachine>(owner.ref(), seed + run);
        EXPECT_LE(serial.refused, serial.calls / 100);
        EXPECT_EQ(serial.not_moved, 0U);
        run_calls<LockstepMachine>(owner.ref(), seed + run);
        const HeapReport report = owner.report();
        EXPECT_TRUE(report.is_clean()) << allocators::to_text(report);
        EXPECT_TRUE(report.leaks.empty());
        EXPECT_EQ(report.unregistered, 0U);
    }
}

TYPED_TEST(Guarded, RefusesWhatItCannotRegisterAndGivesBackWhatItKeeps) {
    GuardedHeap<TypeParam> owner(on_host(), 32, 1000);
    const auto heap = owner.ref();
    std::vector<void*> blocks;
    while (void* block = heap.malloc(8)) blocks.push_back(block);
    EXPECT_EQ(blocks.size(), 64U);
    EXPECT_EQ(owner.report().unregistered, 1U);
    for (void* block : blocks) heap.free(block);
    EXPECT_TRUE(owner.report().leaks.empty());
    // Kept blocks hold the memory until a request needs it.
    GuardedHeap<TypeParam> full(on_host(), 0, 1000);
    std::size_t large = 0;
    for (int i = 0; i < 100; ++i) {
        void* const block = full.ref().malloc(kHeapBytes / 8);
        large += block != nullptr;
        full.ref().free(block);
    }
    EXPECT_EQ(large, 100U);
    EXPECT_TRUE(full.report().is_clean());
}

TEST(HeapReports, TellTheFirstFaultsAndHowManyMore) {
    GuardedHeap<allocators::Cambium> owner(on_host());
    char no_blocks[16 * 300];
    for (int i = 0; i < 300; ++i) owner.ref().free(no_blocks + 16 * i);
    const HeapReport report = owner.report();
    EXPECT_EQ(report.counts[static_cast<std::uint32_t>(HeapFault::not_a_block)], 300U);
    EXPECT_EQ(report.faults.size(), 256U);
    EXPECT_NE(allocators::to_text(report).find("and 44 faults more\n"), std::string::npos);
}

}  // namespace
}  // namespace heapwood::tests
