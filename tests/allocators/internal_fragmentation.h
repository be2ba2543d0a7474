/// @file
/// Internal fragmentation, by equation 3 of Vinkler & Havran 2015 ("Register Efficient Dynamic
/// Memory Allocator for GPUs"): the oracle of what Counting reports.
#pragma once

#include <cstdint>

namespace heapwood::tests {

/// Equation 3: the mean over allocated regions of (size - requested) / size; how much of what was
/// handed out nobody asked for. Not weighted by size. Without a region it is 0.
class InternalFragmentation {
public:
    /// Adds an allocated region of `size` bytes that answers a request of `requested` bytes;
    /// size > 0 and requested <= size.
    void add(std::uint64_t size, std::uint64_t requested) {
        sum_ += static_cast<double>(size - requested) / static_cast<double>(size);
        ++regions_;
    }
    double mean() const { return regions_ == 0 ? 0 : sum_ / static_cast<double>(regions_); }

private:
    double sum_ = 0;
    std::uint64_t regions_ = 0;
};

}  // namespace heapwood::tests
