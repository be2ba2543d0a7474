/// @file
/// Heaps over allocators that know small blocks by their addresses: these have no headers.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "allocators/halloc.cuh"
#include "allocators/heap.cuh"
#include "allocators/llvm_libc.cuh"
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
        const std::size_t most = dice() % 20 == 0 ? 300000 : 2000;
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
    EXPECT_GT(known, 100U);
    EXPECT_GT(others, 100U);
    for (const Block& block : live) {
        for (std::size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.at[i], block.stamp);
        heap.free(block.at);
    }
    expect_all_free(owner);
}

TEST(HeapWithoutHeaders, KnowsTheBlocksOfHalloc) {
    check_known_blocks<allocators::Halloc>();
}
TEST(HeapWithoutHeaders, KnowsTheBlocksOfLlvmLibc) {
    check_known_blocks<allocators::LlvmLibc>();
}

TEST(HeapWithoutHeaders, PowersOfTwoTakeNoMoreThanTheyHave) {
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
