/// @file
/// An allocator that hands the same memory out again and again, to see that it is found out.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"

namespace heapwood::tests {

/// An allocator of 64-byte cells: the n-th request gets cell n % cells, so that it hands the same
/// memory out again, in use or not, after `cells` requests.
struct Revolving {
    explicit Revolving(const allocators::PoolConfig& config)
        : memory(allocators::Place::host, config.bytes), next(allocators::Place::host, 8) {
        if (config.bytes < 4096) throw std::invalid_argument("4096 bytes at least");
        next.zero();
    }
    struct Ref {
        char* memory;
        std::uint64_t cells;
        std::uint64_t* next;

        void* allocate(const allocators::Context&, std::size_t) const {
            const std::uint64_t n = platform::AtomicRef(*next).add_relaxed(1);
            return memory + n % cells * 64;
        }
        void deallocate(const allocators::Context&, void*, std::size_t) const {}
        std::uint64_t granted_bytes(const void*, std::size_t) const { return 64; }
    };
    static constexpr allocators::Traits traits() {
        return {.name = "revolving",
                .title = "",
                .source = "",
                .frees_individually = true,
                .full = true,
                .walkable = false,
                .header_bytes = 0,
                .smallest_pool = 4096};
    }
    Ref ref() const { return {memory.as<char>(), memory.size() / 64, next.as<std::uint64_t>()}; }
    void reset() { next.zero(); }
    std::uint64_t pool_bytes() const { return memory.size(); }
    std::uint64_t overhead_bytes() const { return 0; }
    template <class Visitor>
    void for_each_region(Visitor&&) const {}

    allocators::Buffer memory;
    allocators::Buffer next;
};
static_assert(allocators::Allocator<Revolving>);

}  // namespace heapwood::tests
