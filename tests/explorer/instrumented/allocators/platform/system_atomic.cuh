/// @file
/// What stands in for allocators/platform/system_atomic.cuh in the explorer's tests, whose threads
/// are all of one machine.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"

namespace heapwood::platform {

/// As the real one.
struct SystemAtomicRef : AtomicRef<std::uint64_t> {
    using AtomicRef::AtomicRef;
};

}  // namespace heapwood::platform
