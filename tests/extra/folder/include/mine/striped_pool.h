/// @file
/// What the allocators of this folder share, found by the INCLUDE of its CMakeLists.txt: a pool in
/// stripes, with a counter for each of the bytes that it has handed out.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"

namespace mine {

namespace allocators = heapwood::allocators;

/// A counter in a line of its own.
struct alignas(128) Counter {
    std::uint64_t used;
};

/// The traits of an allocator with such a pool.
constexpr allocators::Traits striped_traits(const char* name, const char* title) {
    return {.name = name,
            .title = title,
            .source = "a test of Heapwood",
            .frees_individually = false,
            .full = false,
            .walkable = true,
            .header_bytes = 0,
            .smallest_pool = std::uint64_t{64} << 10};
}

/// Where the pool is, for a Ref.
struct StripedMemory {
    char* pool;
    Counter* counters;
    std::uint64_t stripe;  ///< bytes of each
};

/// The host object of an allocator with kStripes stripes, but for its traits and its Ref.
template <std::uint32_t kStripes>
class StripedPool {
public:
    /// @throws std::invalid_argument with the allocator's name for a pool that is too small.
    StripedPool(const allocators::PoolConfig& config, const allocators::Traits& traits)
        : stripe_(config.bytes / kStripes / allocators::kAlignment * allocators::kAlignment) {
        if (config.bytes < traits.smallest_pool) {
            throw std::invalid_argument(std::string(traits.name) +
                                        " needs a pool of at least 64 KiB");
        }
        pool_ = allocators::Buffer(config.place, kStripes * stripe_);
        counters_ = allocators::Buffer(config.place, sizeof(Counter) * kStripes);
        reset();
    }

    void reset() { counters_.zero(); }
    std::uint64_t pool_bytes() const { return kStripes * stripe_; }
    std::uint64_t overhead_bytes() const { return sizeof(Counter) * kStripes; }

    /// Of each stripe what was handed out, and the rest.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        Counter counters[kStripes];
        counters_.read(0, counters, sizeof(counters));
        for (std::uint32_t i = 0; i < kStripes; ++i) {
            const std::uint64_t used = counters[i].used < stripe_ ? counters[i].used : stripe_;
            const std::uint64_t start = i * stripe_;
            if (used > 0) visit(allocators::Region{start, used, true});
            if (used < stripe_) visit(allocators::Region{start + used, stripe_ - used, false});
        }
    }

protected:
    StripedMemory memory() const { return {pool_.as<char>(), counters_.as<Counter>(), stripe_}; }

private:
    std::uint64_t stripe_;
    allocators::Buffer pool_;
    allocators::Buffer counters_;
};

}  // namespace mine
