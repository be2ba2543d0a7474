/// @file
/// ScatterAlloc with pages of a given size.
#pragma once

#include <cstdint>
#include <string>

#include "allocators/allocator.cuh"

namespace heapwood::tests {

/// The choice of pages of that many bytes.
inline allocators::Choices paged(std::uint64_t bytes) {
    return {{"page_bytes", std::to_string(bytes)}};
}

}  // namespace heapwood::tests
