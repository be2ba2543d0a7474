/// @file
/// HandledHeap: the heap behind the C interface, for C++ that must not know its allocator.
#pragma once

#include <cstdint>
#include <memory>

#include "allocators/heap.cuh"
#include "allocators/heap/automatic_growth.h"
#include "allocators/heapwood_heap.h"

namespace heapwood::allocators {

/// The owner of a heap of HEAPWOOD_HEAP_ALLOCATOR that has a handle. Its functions are called only
/// while no kernel uses the heap.
class HandledHeap {
public:
    /// @throws as Heap's constructor
    explicit HandledHeap(const HeapConfig& config);
    ~HandledHeap();
    HandledHeap(const HandledHeap&) = delete;
    HandledHeap& operator=(const HandledHeap&) = delete;

    /// What threads give to heapwood_malloc(): it stays the same.
    heapwood_heap* handle() const;
    /// Frees all blocks.
    void reset();
    /// Adds a part to the pool. @throws as Growing::grow()
    void grow(std::uint64_t bytes);
    /// The pool grows while kernels use it. @throws as Growing::grow_automatically()
    void grow_automatically(const GrowthLimits& limits);
    std::uint64_t pool_bytes() const;
    std::uint64_t overhead_bytes() const;
    PoolUse use() const;

    /// The name of the allocator.
    static const char* allocator();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace heapwood::allocators
