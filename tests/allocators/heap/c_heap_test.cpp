/// @file
/// The C interface, for heaps of the host.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "allocators/heapwood_heap.h"

namespace {

constexpr heapwood_heap_options kOnHost{
    .bytes = 1 << 20, .place = HEAPWOOD_ON_HOST, .callers = 0, .memory = nullptr};

std::uint64_t in_use(heapwood_heap* heap) {
    heapwood_heap_use use{};
    EXPECT_EQ(heapwood_heap_get_use(heap, &use), 0) << heapwood_heap_error();
    EXPECT_EQ(use.allocated_bytes + use.free_bytes, use.pool_bytes);
    EXPECT_LE(use.largest_free, use.free_bytes);
    return use.allocated_bytes;
}

TEST(CHeap, AnswersItsCalls) {
    heapwood_heap* const heap = heapwood_heap_create(&kOnHost);
    ASSERT_NE(heap, nullptr) << heapwood_heap_error();
    auto* text = static_cast<char*>(heapwood_malloc(heap, 6));
    std::strcpy(text, "heart");
    text = static_cast<char*>(heapwood_realloc(heap, text, 10000));
    EXPECT_STREQ(text, "heart");
    EXPECT_GE(heapwood_usable_size(heap, text), 10000U);
    const auto* zeros = static_cast<const char*>(heapwood_calloc(heap, 10, 10));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(zeros[i], 0);
    void* const page = heapwood_aligned_alloc(heap, 4096, 100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 4096, 0U);
    EXPECT_EQ(heapwood_malloc(heap, std::size_t{1} << 40), nullptr);
    EXPECT_GE(in_use(heap), 10000U + 100 + 100);
    heapwood_free(heap, text);
    heapwood_free(heap, const_cast<char*>(zeros));
    heapwood_free(heap, page);
    EXPECT_EQ(in_use(heap), 0U);
    EXPECT_EQ(heapwood_heap_destroy(heap), 0);
}

TEST(CHeap, GrowsAndIsEmptied) {
    heapwood_heap* const heap = heapwood_heap_create(&kOnHost);
    ASSERT_NE(heap, nullptr);
    std::vector<void*> blocks;
    const auto fill = [&] {
        while (void* block = heapwood_malloc(heap, 1000)) blocks.push_back(block);
        return blocks.size();
    };
    const std::size_t first = fill();
    EXPECT_GT(first, 500U);
    EXPECT_EQ(heapwood_heap_grow(heap, 3 << 20), 0) << heapwood_heap_error();
    EXPECT_GT(fill(), 3 * first);
    for (void* block : blocks) heapwood_free(heap, block);
    EXPECT_EQ(in_use(heap), 0U);
    heapwood_malloc(heap, 100);
    EXPECT_NE(in_use(heap), 0U);
    EXPECT_EQ(heapwood_heap_reset(heap), 0);
    EXPECT_EQ(in_use(heap), 0U);
    EXPECT_EQ(heapwood_heap_destroy(heap), 0);
}

TEST(CHeap, GrowsByItself) {
    heapwood_heap* const heap = heapwood_heap_create(&kOnHost);
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(heapwood_malloc(heap, 2 << 20), nullptr);
    constexpr std::uint64_t kMost = 64 << 20;
    EXPECT_EQ(heapwood_heap_grow_automatically(heap, 1 << 20, kMost, 100000), 0)
        << heapwood_heap_error();
    void* const block = heapwood_malloc(heap, 2 << 20);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(heapwood_malloc(heap, kMost), nullptr);
    heapwood_heap_use use{};
    EXPECT_EQ(heapwood_heap_get_use(heap, &use), 0);
    EXPECT_LE(use.pool_bytes, kMost);
    heapwood_free(heap, block);
    EXPECT_EQ(in_use(heap), 0U);
    EXPECT_EQ(heapwood_heap_destroy(heap), 0);
}

TEST(CHeap, LiesInGivenMemory) {
    std::vector<char> memory(2 << 20);
    heapwood_heap_options options = kOnHost;
    options.bytes = memory.size();
    options.memory = memory.data();
    heapwood_heap* const heap = heapwood_heap_create(&options);
    ASSERT_NE(heap, nullptr) << heapwood_heap_error();
    const auto* const block = static_cast<const char*>(heapwood_malloc(heap, 100));
    EXPECT_TRUE(block >= memory.data() && block + 100 <= memory.data() + memory.size());
    EXPECT_EQ(heapwood_heap_destroy(heap), 0);
}

TEST(CHeap, SaysWhatFailed) {
    EXPECT_STREQ(heapwood_heap_error(), "");
    EXPECT_EQ(heapwood_heap_create(nullptr), nullptr);
    EXPECT_STREQ(heapwood_heap_error(), "a heap needs options");
    heapwood_heap_options small = kOnHost;
    small.bytes = 100;
    EXPECT_EQ(heapwood_heap_create(&small), nullptr);
    EXPECT_NE(std::string(heapwood_heap_error()).find(heapwood_heap_allocator()),
              std::string::npos);
    heapwood_heap* const heap = heapwood_heap_create(&kOnHost);
    EXPECT_NE(heapwood_heap_grow(heap, 1), 0);
    EXPECT_NE(heapwood_malloc(heap, 100), nullptr);
    EXPECT_EQ(heapwood_heap_destroy(heap), 0);
    EXPECT_EQ(heapwood_heap_destroy(nullptr), 0);
    heapwood_heap_use use{};
    for (const int status :
         {heapwood_heap_destroy(heap), heapwood_heap_reset(heap), heapwood_heap_grow(heap, 1 << 20),
          heapwood_heap_grow_automatically(heap, 1, 1, 1), heapwood_heap_get_use(heap, &use)}) {
        EXPECT_NE(status, 0);
    }
    EXPECT_NE(std::string(heapwood_heap_error()).find("has ended"), std::string::npos);
    // The sentence is of the thread that failed.
    std::thread([] { EXPECT_STREQ(heapwood_heap_error(), ""); }).join();
}

}  // namespace
