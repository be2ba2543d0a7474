/// @file
/// What the walk of a pool says is allocated.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/allocator.cuh"

namespace heapwood::tests {

/// Bytes of the regions that a pool's walk calls allocated. Expects that the regions tile the pool.
template <class Pool>
std::uint64_t allocated_in(const Pool& pool) {
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;
    pool.for_each_region([&](const allocators::Region& r) {
        EXPECT_EQ(r.offset, end);
        end += r.size;
        bytes += r.allocated ? r.size : 0;
    });
    EXPECT_EQ(end, pool.pool_bytes());
    return bytes;
}

}  // namespace heapwood::tests
