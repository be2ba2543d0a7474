/// @file
/// Containers of the standard library in a heap: they hold what others hold, and give all back.
#include "allocators/heap/standard.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/heap.cuh"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::Cambium;
using allocators::Heap;
using allocators::HeapAllocator;
using allocators::HeapRef;
using allocators::Place;

class HeapContainers : public ::testing::Test {
protected:
    template <class T>
    HeapAllocator<T, Cambium> allocator() const {
        return HeapAllocator<T, Cambium>(ref_);
    }
    void TearDown() override { EXPECT_EQ(owner_.use().allocated_bytes, 0U); }

    std::mt19937_64 dice_{test_seed()};
    Heap<Cambium> owner_{{.bytes = 4 << 20, .place = Place::host}};
    HeapRef<Cambium> ref_ = owner_.ref();
};

template <class T>
using InHeap = HeapAllocator<T, Cambium>;

TEST_F(HeapContainers, HoldWhatOthersHold) {
    using Text = std::basic_string<char, std::char_traits<char>, InHeap<char>>;
    std::vector<int, InHeap<int>> vector(allocator<int>());
    std::list<Text, InHeap<Text>> list(allocator<Text>());
    using Pair = std::pair<const int, int>;
    std::map<int, int, std::less<>, InHeap<Pair>> map(allocator<Pair>());
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>, InHeap<Pair>> hashed(
        8, std::hash<int>(), std::equal_to<>(), allocator<Pair>());
    std::vector<int> plain_vector;
    std::list<std::string> plain_list;
    std::map<int, int> plain_map;
    for (int i = 0; i < 3000; ++i) {
        const int key = static_cast<int>(dice_() % 200);
        const std::size_t length = dice_() % 100;
        switch (dice_() % 5) {
            case 0:
                vector.push_back(i);
                plain_vector.push_back(i);
                break;
            case 1:
                list.emplace_back(Text(length, 'x', allocator<char>()));
                plain_list.emplace_back(length, 'x');
                break;
            case 2:
                map[key] = hashed[key] = plain_map[key] = i;
                break;
            case 3:
                EXPECT_EQ(map.erase(key), plain_map.erase(key));
                hashed.erase(key);
                break;
            default:
                if (list.empty()) break;
                list.pop_front();
                plain_list.pop_front();
                break;
        }
    }
    EXPECT_GT(owner_.use().allocated_bytes, 4 * plain_vector.size());
    EXPECT_TRUE(std::ranges::equal(vector, plain_vector));
    EXPECT_TRUE(std::ranges::equal(map, plain_map));
    EXPECT_EQ(hashed.size(), plain_map.size());
    for (const auto& [key, value] : plain_map) EXPECT_EQ(hashed.at(key), value);
    EXPECT_TRUE(std::ranges::equal(list, plain_list, [](const Text& a, const std::string& b) {
        return std::string_view(a) == b;
    }));
    const std::vector<int, InHeap<int>> moved(std::move(vector));
    EXPECT_TRUE(std::ranges::equal(moved, plain_vector));
}

struct alignas(4096) Page {
    char bytes[4096];
};

TEST_F(HeapContainers, AreAligned) {
    std::vector<Page, InHeap<Page>> pages(allocator<Page>());
    for (int i = 0; i < 20; ++i) {
        pages.emplace_back();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % 4096, 0U);
    }
}

TEST_F(HeapContainers, ThrowWhereThereIsNoMemory) {
    std::vector<int, InHeap<int>> vector(100, 7, allocator<int>());
    EXPECT_THROW(vector.reserve(16 << 20), std::bad_alloc);
    EXPECT_EQ(vector, (std::vector<int, InHeap<int>>(100, 7, allocator<int>())));
    EXPECT_THROW((void)allocator<Page>().allocate(~std::size_t{0} / 4096 + 1), std::bad_alloc);
}

TEST_F(HeapContainers, OfOneHandleShareTheirMemory) {
    const HeapRef<Cambium> other = owner_.ref();
    EXPECT_EQ(allocator<int>(), allocator<int>());
    EXPECT_EQ(allocator<int>(), allocator<Page>());
    EXPECT_NE(allocator<int>(), (HeapAllocator<int, Cambium>(other)));
    int* const memory = allocator<int>().allocate(10);
    allocator<int>().deallocate(memory, 10);
}

}  // namespace
}  // namespace heapwood::tests
