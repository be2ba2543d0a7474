/// @file
/// How much memory an allocator takes, before it takes any.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/memory/source.h"

namespace heapwood::allocators {

/// Bytes that an A made from `config` takes: its pool and its tables. A GivenMemory of so many has
/// room for them, wherever it begins.
/// @throws as A's constructor, but never for want of memory
template <Allocator A>
std::uint64_t needed_for(const PoolConfig& config) {
    MeasuringSource measuring(config.place);
    const SourceScope scope(measuring);
    const A unused(config);
    return measuring.needed();
}

}  // namespace heapwood::allocators
