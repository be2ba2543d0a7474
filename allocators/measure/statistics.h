/// @file
/// What a program asked of its allocator, and how fragmented the pool is.
#pragma once

#include <array>
#include <cstdint>

#include "allocators/allocator.cuh"

namespace heapwood::allocators {

/// The requests of one run, as the Counting adaptor sees them. A timed run never carries it.
struct Statistics {
    std::uint64_t requests = 0;
    std::uint64_t frees = 0;
    std::uint64_t failed = 0;                   ///< requests answered with nullptr
    double mean_bytes = 0;                      ///< of the requested sizes
    double deviation_bytes = 0;                 ///< their standard deviation
    std::uint64_t live_bytes = 0;               ///< sum of live requested sizes at the end
    std::uint64_t peak_live_bytes = 0;          ///< largest sum of live requested sizes
    std::array<std::uint64_t, 64> histogram{};  ///< [i]: requests of 2^i to 2^(i+1)-1 bytes
    /// Mean over all successful requests of (granted - requested) / granted; negative: unknown.
    double internal_fragmentation = -1;
    /// The same of the blocks that are live at the end (0 if there are none); negative: unknown.
    double live_internal_fragmentation = -1;
};

/// A pool when as much was live in it as ever, or nearly so.
struct PeakUse {
    std::uint64_t live_bytes = 0;        ///< asked for and not yet freed at that moment
    std::uint64_t allocated_bytes = 0;   ///< of the pool, in allocated regions
    double internal_fragmentation = -1;  ///< of the live blocks; negative: unknown
    double external_fragmentation = -1;  ///< of the pool; negative: unknown
};

}  // namespace heapwood::allocators
