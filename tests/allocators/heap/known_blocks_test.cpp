/// @file
/// Heaps over allocators that know small blocks by their addresses: these have no headers.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "allocators/dynasoar.cuh"
#include "allocators/flatterscatter.cuh"
#include "allocators/gallatin.cuh"
#include "allocators/halloc.cuh"
#include "allocators/heap.cuh"
#include "allocators/kma.cuh"
#include "allocators/llvm_libc.cuh"
#include "allocators/ouroboros.cuh"
#include "allocators/scatteralloc.cuh"
#include "tests/allocators/heap/heap_checks.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::Heap;

/// Blocks of every alignment, small and large, beside one another: those that the allocator knows
/// have no header, and all have room and go back.
template <class A>
void check_known_blocks() {
    using allocators::heap::KnowsBlocks;
    static_assert(KnowsBlocks<typename A::Ref>);
    std::mt19937_64 dice(test_seed());
    // A pool whose end may have no room for a slab.
    const Heap<A> owner = host_heap<A>(kHeapBytes / 2 + dice() % 4096 * 16);
    const auto heap = owner.ref();
    const auto& allocator = heap.allocator();
    void* const nothing = heap.malloc(0);
    EXPECT_NE(nothing, nullptr);
    heap.free(nothing);
    struct Block {
        unsigned char* at;
        std::size_t bytes;
        unsigned char stamp;
    };
    std::vector<Block> live;
    unsigned known = 0, others = 0;
    for (unsigned n = 0; n < 3000; ++n) {
        if (!live.empty() && dice() % 3 == 0) {
            std::swap(live[dice() % live.size()], live.back());
            const Block block = live.back();
            live.pop_back();
            for (std::size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.at[i], block.stamp);
            heap.free(block.at);
            continue;
        }
        const std::size_t alignment = dice() % 3 == 0 ? std::size_t{16} << dice() % 9 : 16;
        const auto kind = dice() % 20;
        const std::size_t most = kind == 0 ? 300000 : kind < 6 ? 48 : 2000;
        const std::size_t bytes = dice() % (most + 1);
        auto* const at = static_cast<unsigned char*>(heap.aligned_alloc(alignment, bytes));
        if (at == nullptr) continue;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % alignment, 0U);
        const std::size_t usable = heap.usable_size(at);
        ASSERT_GE(usable, bytes);
        // With a header the class would be that of 16 bytes more.
        const std::size_t wanted = bytes == 0 ? 1 : bytes;
        const bool has_none = alignment == 16 && bytes <= allocator.largest_known();
        EXPECT_EQ(allocator.known_bytes(at), has_none ? allocator.granted_bytes(at, wanted) : 0U);
        if (has_none) {
            EXPECT_EQ(usable, allocator.granted_bytes(at, wanted));
        }
        ++(has_none ? known : others);
        const Block block{at, usable, static_cast<unsigned char>(dice())};
        std::memset(at, block.stamp, usable);
        live.push_back(block);
    }
    EXPECT_GT(known, 50U);
    EXPECT_GT(others, 100U);
    for (const Block& block : live) {
        for (std::size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.at[i], block.stamp);
        heap.free(block.at);
    }
    expect_all_free(owner);
}

template <class A>
class HeapWithoutHeaders : public ::testing::Test {};
using Known =
    ::testing::Types<allocators::DynaSOAr, allocators::FlatterScatter, allocators::Gallatin,
                     allocators::Halloc, allocators::Kma, allocators::LlvmLibc,
                     allocators::OuroborosCS, allocators::OuroborosPVA, allocators::ScatterAlloc>;
TYPED_TEST_SUITE(HeapWithoutHeaders, Known);

TYPED_TEST(HeapWithoutHeaders, KnowsItsBlocks) {
    check_known_blocks<TypeParam>();
}

/// The smallest pools, in which an allocator may know none.
TYPED_TEST(HeapWithoutHeaders, TakesAnythingBackOfSmallPools) {
    std::mt19937_64 dice(test_seed());
    for (unsigned n = 0; n < 20; ++n) {
        const std::uint64_t smallest = TypeParam::traits().smallest_pool;
        const Heap<TypeParam> owner = host_heap<TypeParam>(smallest + dice() % (8 * smallest));
        const auto heap = owner.ref();
        std::vector<void*> blocks{heap.malloc(0)};
        for (unsigned i = 0; i < 300; ++i) {
            const std::size_t alignment = std::size_t{16} << dice() % 8;
            const std::size_t bytes = dice() % (std::size_t{1} << dice() % 13);
            blocks.push_back(dice() % 2 == 0 ? heap.malloc(bytes)
                                             : heap.aligned_alloc(alignment, bytes));
            if (blocks.back() != nullptr) {
                ASSERT_GE(heap.usable_size(blocks.back()), bytes);
            }
            if (dice() % 2 != 0) continue;
            std::swap(blocks[dice() % blocks.size()], blocks.back());
            heap.free(blocks.back());
            blocks.pop_back();
        }
        for (void* const block : blocks) heap.free(block);
        expect_all_free(owner);
    }
}

TEST(HeapWithoutHeadersOfHalloc, PowersOfTwoTakeNoMoreThanTheyHave) {
    const Heap<allocators::Halloc> owner = host_heap<allocators::Halloc>();
    const auto heap = owner.ref();
    ASSERT_GE(heap.allocator().largest_known(), 1024U);
    for (const std::size_t bytes : {16, 64, 256, 1024}) {
        void* const block = heap.malloc(bytes);
        EXPECT_EQ(heap.usable_size(block), bytes);
        heap.free(block);
    }
}

}  // namespace
}  // namespace heapwood::tests
