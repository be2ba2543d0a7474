/// @file
/// A list that grows in a heap, as programs have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "allocators/platform/macros.cuh"

namespace heapwood::examples {

/// Numbers, in one block of a heap that doubles. All zeroes: an empty list.
struct List {
    std::uint32_t* items;
    std::uint32_t count;
    std::uint32_t capacity;

    /// Makes room for `numbers` numbers. If the list has to grow, its capacity at least doubles.
    /// @return whether the heap had the memory. If not, the list is unchanged
    template <class Heap>
    HEAPWOOD_FN bool make_room(const Heap& heap, std::uint32_t numbers) {
        if (numbers <= capacity) return true;
        std::uint32_t larger = capacity == 0 ? 4 : 2 * capacity;
        if (larger < numbers) larger = numbers;
        void* const block = heap.realloc(items, larger * sizeof(std::uint32_t));
        if (block == nullptr) return false;
        items = static_cast<std::uint32_t*>(block);
        // What the heap rounds up is used, too.
        capacity = static_cast<std::uint32_t>(heap.usable_size(block) / sizeof(std::uint32_t));
        return true;
    }
    /// Adds a number. @return whether the heap had room; if not, the list is as it was
    template <class Heap>
    HEAPWOOD_FN bool add(const Heap& heap, std::uint32_t item) {
        if (!make_room(heap, count + 1)) return false;
        items[count++] = item;
        return true;
    }
    template <class Heap>
    HEAPWOOD_FN void clear(const Heap& heap) {
        heap.free(items);
        *this = {};
    }
};

/// CUDA's malloc, or on a CPU the C library's, with what it lacks: a word before each block has its
/// size.
struct SystemHeap {
    HEAPWOOD_FN void* realloc(void* block, std::size_t bytes) const {
        bytes = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
        auto* const larger = static_cast<std::uint64_t*>(::malloc(bytes + kHeader));
        if (larger == nullptr) return nullptr;
        larger[0] = bytes;
        std::uint64_t* const to = larger + kHeader / sizeof(std::uint64_t);
        if (block != nullptr) {
            const auto* const from = static_cast<const std::uint64_t*>(block);
            for (std::size_t i = 0; i < usable_size(block) / sizeof(std::uint64_t); ++i) {
                to[i] = from[i];
            }
            free(block);
        }
        return to;
    }
    HEAPWOOD_FN std::size_t usable_size(const void* block) const {
        return static_cast<const std::uint64_t*>(block)[-2];
    }
    HEAPWOOD_FN void free(void* block) const {
        if (block != nullptr) ::free(static_cast<std::uint64_t*>(block) - 2);
    }

private:
    static constexpr std::size_t kHeader = 16;
};

}  // namespace heapwood::examples
