/// @file
/// How fragmented a pool is, by equation 2 of Vinkler & Havran 2015 ("Register Efficient
/// Dynamic Memory Allocator for GPUs"), and how much of it is in use.
///
/// The measure lies in [0, 1]. A negative value means unknown, as everywhere in this library;
/// only an allocator that cannot be walked (CUDA's) has it.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"

namespace heapwood::allocators {

/// What the regions of a pool add up to.
struct PoolUse {
    bool known = false;  ///< false: the allocator cannot be walked, and all else is 0
    std::uint64_t allocated_bytes = 0;
    std::uint64_t allocated_regions = 0;
    std::uint64_t free_bytes = 0;
    std::uint64_t free_regions = 0;
    std::uint64_t largest_free = 0;  ///< bytes of the largest free region

    /// Adds one region.
    void add(const Region& region) {
        known = true;
        if (region.allocated) {
            allocated_bytes += region.size;
            ++allocated_regions;
        } else {
            free_bytes += region.size;
            ++free_regions;
            largest_free = region.size > largest_free ? region.size : largest_free;
        }
    }
};

/// Walks an allocator's pool. Only while no kernel uses it.
template <Allocator A>
PoolUse measure_pool(const A& allocator) {
    PoolUse use;
    allocator.for_each_region([&use](const Region& region) { use.add(region); });
    return use;
}

/// Equation 2: 1 - largest free region / all free bytes; how much of the free memory one request
/// cannot have. A pool without a free byte has 0, for nothing that is free is cut up.
inline double external_fragmentation(const PoolUse& use) {
    if (!use.known) return -1;
    if (use.free_bytes == 0) return 0;
    return 1 - static_cast<double>(use.largest_free) / static_cast<double>(use.free_bytes);
}

}  // namespace heapwood::allocators
