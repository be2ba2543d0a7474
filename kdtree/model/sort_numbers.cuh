/// @file
/// Sorting by one thread, in any kernel and on a CPU, without memory of its own.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::kdtree {

/// Sorts numbers in ascending order, where they lie (Floyd's heap sort).
HEAPWOOD_INLINE void sort_numbers(std::uint32_t* numbers, std::uint32_t count) {
    for (std::uint32_t unordered = count / 2, end = count; end > 1;) {
        std::uint32_t moved;
        if (unordered > 0) {
            moved = numbers[--unordered];
        } else {
            moved = numbers[--end];
            numbers[end] = numbers[0];
        }
        std::uint32_t hole = unordered;
        for (std::uint32_t child; (child = 2 * hole + 1) < end; hole = child) {
            if (child + 1 < end && numbers[child] < numbers[child + 1]) ++child;
            if (numbers[child] <= moved) break;
            numbers[hole] = numbers[child];
        }
        numbers[hole] = moved;
    }
}

}  // namespace heapwood::kdtree
