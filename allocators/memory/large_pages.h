/// @file
/// Host memory that is read all over at random.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/memory/buffer.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace heapwood::allocators {

/// Asks the system for large pages, so that fewer addresses need be looked up. Before the buffer is
/// first written; a wish, which does nothing where it cannot be had.
inline void prefer_large_pages([[maybe_unused]] const Buffer& buffer) {
#if defined(__linux__)
    if (buffer.place() != Place::host || buffer.size() < (1U << 21)) return;
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    auto* data = buffer.as<std::byte>();
    const std::uint64_t skipped = (page - reinterpret_cast<std::uintptr_t>(data) % page) % page;
    (void)madvise(data + skipped, (buffer.size() - skipped) / page * page, MADV_HUGEPAGE);
#endif
}

}  // namespace heapwood::allocators
