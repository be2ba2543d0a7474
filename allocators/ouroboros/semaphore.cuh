/// @file
/// The semaphores of the queues: numbers that may be below 0 for a moment.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// Lowers a semaphore by up to n, but not below 0; orders nothing. @return by how much.
HEAPWOOD_INLINE std::uint32_t lower(const platform::AtomicRef<std::uint32_t>& semaphore,
                                    std::uint32_t n) {
    const auto before = static_cast<std::int32_t>(semaphore.sub_relaxed(n));
    if (before >= static_cast<std::int32_t>(n)) return n;
    const std::uint32_t got = before > 0 ? static_cast<std::uint32_t>(before) : 0U;
    semaphore.count_relaxed(n - got);
    return got;
}

}  // namespace heapwood::allocators::ouroboros
