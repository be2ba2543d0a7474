/// @file
/// Memory of results that are gone, for the next results: the system clears every page that it
/// gives, which takes as long as a part of the rays.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "allocators/memory/buffer.h"
#include "allocators/memory/large_pages.h"

namespace heapwood::python {

/// The block of the last arrays that Python has given up. On the host alone. Any thread may call.
class LastResults {
public:
    /// A block of at least so many bytes, but not of twice as many.
    allocators::Buffer take(allocators::Place place, std::uint64_t bytes) {
        if (place == allocators::Place::host) {
            const std::lock_guard lock(mutex_);
            if (block_.size() >= bytes && block_.size() / 2 < bytes) return std::move(block_);
        }
        allocators::Buffer fresh(place, bytes);
        allocators::prefer_large_pages(fresh);
        return fresh;
    }
    /// Keeps it, in the place of the one before.
    void keep(allocators::Buffer block) {
        if (block.place() != allocators::Place::host || block.size() > kMost) return;
        const std::lock_guard lock(mutex_);
        std::swap(block_, block);
    }

private:
    static constexpr std::uint64_t kMost = std::uint64_t{256} << 20;

    std::mutex mutex_;
    allocators::Buffer block_;
};

/// The process's.
inline LastResults& last_results() {
    // Not destroyed: arrays of Python's may live as long as the process.
    static auto* const last = new LastResults;
    return *last;
}

}  // namespace heapwood::python
