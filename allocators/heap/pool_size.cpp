/// @file
/// How large the pool of a heap is, and whom its allocator has to expect.
#include <algorithm>
#include <cstdint>
#include <functional>

#include "allocators/heap.cuh"

namespace heapwood::allocators::heap {

PoolConfig pool_config(const HeapConfig& config) {
    PoolConfig pool;
    pool.place = config.place;
    pool.bytes = config.bytes;
    if (config.place == Place::device) {
        pool.multiprocessors =
            static_cast<std::uint32_t>(std::max(platform::device_info().multiprocessors, 1));
        pool.callers = pool.multiprocessors * kWarpsOfMultiprocessor;
    } else {
        pool.multiprocessors = platform::thread_count(0);
        pool.callers = pool.multiprocessors;
    }
    if (config.callers != 0) pool.callers = config.callers;
    return pool;
}

std::uint64_t largest_pool(std::uint64_t smallest, std::uint64_t bytes,
                           const std::function<std::uint64_t(std::uint64_t)>& needed) {
    if (bytes < smallest || needed(smallest) > bytes) return 0;
    // By halves, until less than a thousandth is unused: allocators round pools anyway.
    std::uint64_t fits = smallest;
    std::uint64_t end = bytes + 1;
    while (end - fits > std::max<std::uint64_t>(bytes / 1024, kAlignment)) {
        const std::uint64_t tried = fits + (end - fits) / 2;
        (needed(tried) <= bytes ? fits : end) = tried;
    }
    return fits;
}

}  // namespace heapwood::allocators::heap
