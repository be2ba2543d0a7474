/// @file
/// What a heap does that does not depend on its allocator: objects, groups, resources.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory_resource>
#include <stdexcept>
#include <thread>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/heap.cuh"
#include "allocators/memory/resource_source.h"

namespace heapwood::tests {
namespace {

using allocators::Cambium;
using allocators::Heap;
using allocators::Place;

Heap<Cambium> small_heap() {
    return Heap<Cambium>({.bytes = 1 << 20, .place = Place::host});
}

/// A group of which this thread is number `rank`, and in which number 0 said `said`.
struct FakeGroup {
    unsigned rank;
    std::uint64_t said;
    int* waits;

    unsigned thread_rank() const { return rank; }
    std::uint64_t shfl(std::uint64_t own, int from) const {
        EXPECT_EQ(from, 0);
        return rank == 0 ? own : said;
    }
    void sync() const { ++*waits; }
};

TEST(HeapGroup, HasOneBlockThatNumber0TakesAndGives) {
    const Heap<Cambium> owner = small_heap();
    const auto heap = owner.ref();
    int waits = 0;
    const FakeGroup first{0, 0, &waits};
    void* const block = heap.malloc(first, 100);
    ASSERT_NE(block, nullptr);
    const std::uint64_t in_use = owner.use().allocated_bytes;
    const FakeGroup second{1, reinterpret_cast<std::uintptr_t>(block), &waits};
    EXPECT_EQ(heap.malloc(second, 100), block);
    EXPECT_EQ(owner.use().allocated_bytes, in_use);
    heap.free(second, block);
    EXPECT_EQ(owner.use().allocated_bytes, in_use);
    heap.free(first, block);
    EXPECT_EQ(waits, 2);
    EXPECT_EQ(owner.use().allocated_bytes, 0U);
}

/// Counts itself.
struct alignas(128) Counted {
    explicit Counted(int& count) : count_(&count) { ++*count_; }
    ~Counted() { --*count_; }
    int* count_;
};

TEST(HeapObjects, AreMadeAlignedAndEnded) {
    const Heap<Cambium> owner = small_heap();
    const auto heap = owner.ref();
    int count = 0;
    auto* const object = heap.create<Counted>(count);
    ASSERT_NE(object, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % 128, 0U);
    EXPECT_EQ(count, 1);
    heap.destroy(object);
    EXPECT_EQ(count, 0);
    const auto* const constant = heap.create<const double>(2.5);
    EXPECT_EQ(*constant, 2.5);
    heap.destroy(constant);
    EXPECT_EQ((heap.create<std::array<char, 2 << 20>>()), nullptr);
    EXPECT_EQ(owner.use().allocated_bytes, 0U);
}

TEST(HeapCaller, IsKnownByItsThread) {
    const std::uint32_t own = allocators::heap::calling_thread(1000000).warp;
    std::uint32_t other = own;
    std::thread([&] { other = allocators::heap::calling_thread(1000000).warp; }).join();
    EXPECT_NE(own, other);
    EXPECT_EQ(allocators::heap::calling_thread(1000000).warp, own);
    EXPECT_EQ(allocators::heap::calling_thread(1).multiprocessor, 0U);
}

TEST(HeapMemory, ComesFromAResource) {
    std::vector<std::byte> memory(4 << 20);
    std::pmr::monotonic_buffer_resource resource(memory.data(), memory.size(),
                                                 std::pmr::null_memory_resource());
    allocators::ResourceSource source(Place::host, resource);
    const Heap<Cambium> owner({.bytes = 1 << 20, .place = Place::host, .source = &source});
    auto* const block = static_cast<std::byte*>(owner.ref().malloc(1000));
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(block >= memory.data() && block + 1000 <= memory.data() + memory.size());
    EXPECT_THROW(Heap<Cambium>({.bytes = 8 << 20, .place = Place::host, .source = &source}),
                 std::bad_alloc);
    EXPECT_THROW(Heap<Cambium>({.bytes = 1 << 20, .place = Place::device, .source = &source}),
                 std::invalid_argument);
    EXPECT_THROW(
        Heap<Cambium>(
            {.bytes = 4 << 20, .place = Place::host, .memory = memory.data(), .source = &source}),
        std::invalid_argument);
}

TEST(HeapMemory, OfAScopeIsForItsPlaceAlone) {
    std::vector<std::byte> memory(1 << 16);
    allocators::GivenMemory given(Place::host, memory.data(), memory.size());
    allocators::GivenMemory elsewhere(Place::device, memory.data(), memory.size());
    const allocators::SourceScope outer(given);
    const allocators::SourceScope inner(elsewhere);
    const allocators::Buffer buffer(Place::host, 100);
    EXPECT_GE(buffer.as<std::byte>(), memory.data());
    EXPECT_LT(buffer.as<std::byte>(), memory.data() + memory.size());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0U);
    std::thread([] { EXPECT_EQ(allocators::SourceScope::source(Place::host), nullptr); }).join();
    EXPECT_THROW(allocators::Buffer(Place::host, 1 << 16), allocators::BufferError);
}

TEST(HeapMemory, ThatIsMeasuredHoldsNothing) {
    allocators::MeasuringSource measuring(Place::host);
    const allocators::SourceScope scope(measuring);
    allocators::Buffer buffer(Place::host, std::uint64_t{1} << 50);
    const std::uint32_t written = 7;
    buffer.write(100, &written, sizeof written);
    const allocators::Word word{3, 7};
    buffer.write_words(&word, 1);
    buffer.zero();
    std::uint32_t read = 9;
    buffer.read(100, &read, sizeof read);
    EXPECT_EQ(read, 0U);
    EXPECT_THROW(buffer.write(std::uint64_t{1} << 50, &written, 1), allocators::BufferError);
    EXPECT_GE(measuring.needed(), std::uint64_t{1} << 50);
    EXPECT_THROW(allocators::Buffer(Place::host, ~std::uint64_t{0}), allocators::BufferError);
}

}  // namespace
}  // namespace heapwood::tests
