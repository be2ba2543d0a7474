/// @file
/// What must hold of a Heap over any allocator, on a machine of the host: called for each of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocators/heap.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/measure/heap_map.h"
#include "tests/allocators/heap/behind_heap.cuh"
#include "tests/allocators/heap/calls_body.cuh"
#include "tests/allocators/heap/grown.cuh"
#include "tests/allocators/heap/growth_checks.h"
#include "tests/allocators/platform/machines.h"
#include "tests/allocators/subjects.h"
#include "tests/seed.h"

namespace heapwood::tests {

inline constexpr std::uint64_t kHeapBytes = std::uint64_t{8} << 20;

/// Enlists heaps over A, and pools of A that have grown or grow, in the conformance suite.
template <class A>
bool enlist_heaps(const std::string& name) {
    enlist<BehindHeap<A>, SerialMachine>("heap_" + name);
    if constexpr (allocators::CanGrow<A>) {
        enlist<Grown<A>, SerialMachine>("grown_" + name);
        enlist<SelfGrown<A>, SerialMachine>("self_grown_" + name);
    }
    return true;
}

/// A heap on the host.
template <class A>
allocators::Heap<A> host_heap(std::uint64_t bytes = kHeapBytes) {
    return allocators::Heap<A>({.bytes = bytes, .place = allocators::Place::host});
}

/// Expects that no block is in use, if that can be known.
template <class A>
void expect_all_free(const allocators::Heap<A>& heap) {
    if (!A::traits().walkable || !A::traits().full) return;
    EXPECT_EQ(heap.use().allocated_bytes, 0U);
    EXPECT_GT(heap.largest_free_block(), 0U);
}

/// Sizes and alignments at the ends of what is promised, and beyond.
template <class A>
void check_ends_of_ranges() {
    const auto owner = host_heap<A>();
    const allocators::HeapRef<A> heap = owner.ref();
    for (const std::size_t bytes :
         {~std::size_t{0}, ~std::size_t{0} - 15, std::size_t{1} << 63, std::size_t{1} << 48,
          (std::size_t{1} << 48) - 1, std::size_t{2} * kHeapBytes}) {
        EXPECT_EQ(heap.malloc(bytes), nullptr) << bytes;
        EXPECT_EQ(heap.aligned_alloc(65536, bytes), nullptr) << bytes;
        EXPECT_EQ(heap.calloc(bytes, 1), nullptr) << bytes;
    }
    EXPECT_EQ(heap.calloc((std::size_t{1} << 32) + 1, std::size_t{1} << 32), nullptr);
    void* const nothing = heap.malloc(0);
    void* const other = heap.malloc(0);
    EXPECT_NE(nothing, nullptr);
    EXPECT_NE(nothing, other);
    heap.free(other);
    void* const zeros = heap.calloc(0, 8);
    EXPECT_NE(zeros, nullptr);
    heap.free(zeros);
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (const std::size_t bytes : {0, 1, 16, 17, 1000}) {
            void* const block = heap.aligned_alloc(alignment, bytes);
            ASSERT_NE(block, nullptr) << alignment << ", " << bytes;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
            EXPECT_GE(heap.usable_size(block), bytes);
            std::memset(block, 0x5a, heap.usable_size(block));
            heap.free(block);
        }
    }
    for (const std::size_t wrong : {0, 3, 24, 65537, 131072}) {
        EXPECT_EQ(heap.aligned_alloc(wrong, 8), nullptr) << wrong;
    }
    heap.free(nullptr);
    heap.destroy(static_cast<int*>(nullptr));
    EXPECT_EQ(heap.usable_size(nullptr), 0U);
    heap.free(nothing);
    expect_all_free(owner);
}

/// What realloc() keeps, and that a refusal leaves the block as it was.
template <class A>
void check_realloc() {
    const auto owner = host_heap<A>();
    const allocators::HeapRef<A> heap = owner.ref();
    auto* block = static_cast<unsigned char*>(heap.realloc(nullptr, 100));
    ASSERT_NE(block, nullptr);
    for (unsigned i = 0; i < 100; ++i) block[i] = static_cast<unsigned char>(i);
    EXPECT_EQ(heap.realloc(block, heap.usable_size(block)), block);
    EXPECT_EQ(heap.realloc(block, 1), block);
    EXPECT_EQ(heap.realloc(block, 0), block);
    EXPECT_EQ(heap.realloc(block, 4 * kHeapBytes), nullptr);
    block = static_cast<unsigned char*>(heap.realloc(block, 5000));
    ASSERT_NE(block, nullptr);
    EXPECT_GE(heap.usable_size(block), 5000U);
    for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(block[i], i);
    heap.free(block);
    void* aligned = heap.aligned_alloc(4096, 64);
    ASSERT_NE(aligned, nullptr);
    std::memset(aligned, 7, 64);
    aligned = heap.realloc(aligned, 20000);
    ASSERT_NE(aligned, nullptr);
    const auto* const bytes = static_cast<const unsigned char*>(aligned);
    EXPECT_TRUE(std::all_of(bytes, bytes + 64, [](unsigned char b) { return b == 7; }));
    heap.free(aligned);
    expect_all_free(owner);
}

/// Random calls of all threads of a machine. @return the sum of what they saw
template <class Machine, class Ref>
CallTally run_calls(const Ref& ref, std::uint64_t seed) {
    constexpr unsigned kWarps = Machine::Warp::width == 1 ? 4 : 2;
    constexpr unsigned kThreads = kWarps * Machine::Warp::width;
    constexpr unsigned kRounds = Machine::Warp::width == 1 ? 3000 : 300;
    constexpr unsigned kEach = 6;
    std::vector<Block> slots(kThreads * kEach);
    std::vector<CallTally> tallies(kThreads);
    Machine::run(kWarps,
                 HeapCallsBody<Ref>{ref, slots.data(), kEach, kRounds, 2000, seed, tallies.data()});
    CallTally sum{};
    for (const CallTally& tally : tallies) sum += tally;
    EXPECT_EQ(sum.wrong, 0U);
    EXPECT_EQ(sum.corrupt, 0U);
    EXPECT_GT(sum.calls, kThreads * kRounds - 1U);
    return sum;
}

/// Every call of a heap, by all threads at once.
template <class A, class Machine>
void check_calls() {
    auto owner = host_heap<A>(kHeapBytes * 2);
    const std::uint64_t seed = test_seed();
    for (unsigned run = 0; run < 2; ++run) {
        const CallTally sum = run_calls<Machine>(owner.ref(), seed + run);
        EXPECT_GT(sum.not_moved, 0U);
        if (A::traits().full) {
            EXPECT_LE(sum.refused, sum.calls / 100);
        }
        expect_all_free(owner);
        owner.reset();
    }
}

/// A heap in a given range: it stays inside, and uses most of it.
template <class A>
void check_given_memory_of() {
    using allocators::HeapConfig;
    using allocators::Place;
    constexpr unsigned char kCanary = 0xc5;
    for (const std::uint64_t bytes : {kHeapBytes, kHeapBytes * 2 + 12345}) {
        std::vector<unsigned char> around(bytes + 2048, kCanary);
        unsigned char* const memory = around.data() + 1024 + 8;
        const HeapConfig config{.bytes = bytes, .place = Place::host, .memory = memory};
        if (A::traits().one_heap) {
            EXPECT_THROW(allocators::Heap<A>{config}, std::invalid_argument);
            return;
        }
        {
            const allocators::Heap<A> owner(config);
            const allocators::HeapRef<A> heap = owner.ref();
            EXPECT_LE(owner.pool_bytes() + owner.overhead_bytes(), bytes);
            EXPECT_GE(owner.pool_bytes() + owner.overhead_bytes(), bytes / 10 * 4);
            for (void* block = heap.malloc(3000); block != nullptr; block = heap.malloc(3000)) {
                auto* const at = static_cast<unsigned char*>(block);
                ASSERT_TRUE(at >= memory && at + heap.usable_size(block) <= memory + bytes);
                std::memset(block, 1, heap.usable_size(block));
            }
        }
        const auto is_canary = [](unsigned char byte) { return byte == kCanary; };
        EXPECT_TRUE(std::all_of(around.data(), memory, is_canary));
        EXPECT_TRUE(std::all_of(memory + bytes, around.data() + around.size(), is_canary));
    }
    unsigned char few[64];
    EXPECT_THROW(allocators::Heap<A>({.bytes = sizeof few, .place = Place::host, .memory = few}),
                 std::invalid_argument);
}

template <class A>
void check_given_memory() {
    check_given_memory_of<A>();
    if constexpr (allocators::CanGrow<A>) check_given_memory_of<allocators::Growing<A>>();
}

/// Blocks stay where they are when the heap grows, and what was refused is then given; every block
/// goes back to its part, and a reset empties all of them.
template <class A>
void check_growth() {
    if constexpr (allocators::CanGrow<A>) {
        constexpr std::uint64_t kPart = kHeapBytes / 2;
        constexpr std::uint64_t kBlock = 3000;
        auto owner = host_heap<allocators::Growing<A>>(kPart);
        std::vector<unsigned char*> blocks;
        const auto fill = [&] {
            const auto heap = owner.ref();
            while (void* block = heap.malloc(kBlock)) {
                std::memset(block, static_cast<int>(blocks.size() % 251), kBlock);
                blocks.push_back(static_cast<unsigned char*>(block));
            }
        };
        fill();
        const std::size_t of_one_part = blocks.size();
        ASSERT_GT(of_one_part, kPart / kBlock / 4);
        EXPECT_EQ(owner.ref().malloc(kPart + 1), nullptr);
        owner.allocator().grow(2 * kPart);
        EXPECT_EQ(owner.allocator().part_count(), 2U);
        fill();
        EXPECT_GT(blocks.size(), of_one_part * 5 / 2);
        owner.allocator().grow(kPart);
        fill();
        EXPECT_GT(blocks.size(), of_one_part * 7 / 2);
        EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
        const auto heap = owner.ref();
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const auto* const end = blocks[i] + kBlock;
            EXPECT_EQ(std::count(blocks[i], blocks[i] + kBlock, i % 251), end - blocks[i]);
            EXPECT_GE(heap.usable_size(blocks[i]), kBlock);
            heap.free(blocks[i]);
        }
        expect_all_free(owner);
        const std::size_t all = blocks.size();
        if (!A::traits().full) owner.reset();
        blocks.clear();
        fill();
        EXPECT_GT(blocks.size(), all * 9 / 10);
        owner.reset();
        expect_all_free(owner);
        const auto regions = allocators::regions_of(owner.allocator());
        std::uint64_t end = 0;
        for (const allocators::Region& region : regions) {
            EXPECT_EQ(region.offset, end);
            end += region.size;
        }
        EXPECT_EQ(end, owner.pool_bytes());
        EXPECT_THROW(owner.allocator().grow(1), std::invalid_argument);
        EXPECT_EQ(owner.allocator().part_count(), 3U);
        while (owner.allocator().part_count() < allocators::Growing<A>::kMostParts) {
            owner.allocator().grow(A::traits().smallest_pool);
        }
        EXPECT_THROW(owner.allocator().grow(kPart), std::length_error);
    }
}

/// A source that remembers what it gave.
class LedgerSource : public allocators::MemorySource {
public:
    LedgerSource() : MemorySource(allocators::Place::host) {}

    void* allocate(std::uint64_t bytes) override {
        if (bytes > left) throw allocators::BufferError("the source has no more");
        left -= bytes;
        void* const data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
        std::memset(data, 0xee, bytes);
        live[data] = bytes;
        return data;
    }
    void deallocate(void* data, std::uint64_t bytes) noexcept override {
        EXPECT_EQ(live.count(data), 1U);
        EXPECT_EQ(live[data], bytes);
        live.erase(data);
        left += bytes;
        std::free(data);
    }

    std::uint64_t left = 4 * kHeapBytes;
    std::map<void*, std::uint64_t> live;
};

/// A heap out of a source gives all back, also when the source refuses.
template <class A>
void check_source() {
    using allocators::Place;
    LedgerSource source;
    const allocators::HeapConfig config{
        .bytes = kHeapBytes, .place = Place::host, .source = &source};
    if (A::traits().one_heap) {
        EXPECT_THROW(allocators::Heap<A>{config}, std::invalid_argument);
        return;
    }
    {
        allocators::Heap<A> first(config);
        EXPECT_FALSE(source.live.empty());
        allocators::Heap<A> owner(std::move(first));
        void* const block = owner.ref().malloc(100);
        ASSERT_NE(block, nullptr);
        EXPECT_TRUE(std::any_of(source.live.begin(), source.live.end(), [&](const auto& given) {
            const auto* const begin = static_cast<const char*>(given.first);
            return block >= begin && block < begin + given.second;
        }));
        owner.ref().free(block);
        expect_all_free(owner);
    }
    EXPECT_TRUE(source.live.empty());
    for (std::uint64_t left = 0; left < kHeapBytes; left += kHeapBytes / 5) {
        source.left = left;
        EXPECT_THROW(allocators::Heap<A>{config}, allocators::BufferError) << left;
        EXPECT_TRUE(source.live.empty()) << left;
        EXPECT_EQ(source.left, left);
    }
    EXPECT_EQ(allocators::SourceScope::source(Place::host), nullptr);
}

}  // namespace heapwood::tests
