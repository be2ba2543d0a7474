/// @file
/// AtomicMalloc: the speed of light, a counter that only grows.
///
/// A request adds its rounded size to a 64-bit counter, and owns the bytes between the old and the
/// new value. No block is freed by itself, hence the papers' asterisk: memory returns on reset()
/// only.
///
/// Against the original (Vinkler & Havran 2014, section 3): the counter has 64 bits. A refused
/// request gets nullptr, not the pool's start, and puts the counter back, so that smaller requests
/// fit after it, and the counter never wraps.
///
/// Concurrency: the counter hands out disjoint ranges. The request whose addition passes the pool's
/// end lowers the counter to where it was; those that come meanwhile are refused, and lower it to
/// the pool's end at most. So from the addition on until it is undone nobody is given memory, and
/// no two requests undo theirs at the same time. No memory is handed out twice between two resets,
/// so relaxed order suffices.
#pragma once

#include <stdexcept>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

class AtomicMalloc {
public:
    static constexpr Traits traits() {
        return {.name = "atomicmalloc",
                .title = "AtomicMalloc",
                .source = "Vinkler & Havran 2014, section 3",
                .frees_individually = false,
                .full = false,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = 4096,
                .published_registers = {.uncoalesced = 4, .coalesced = 9}};
    }

    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context&, std::size_t bytes) const {
            if (bytes == 0 || bytes > capacity_) return nullptr;
            const auto size = platform::round_up<std::uint64_t>(bytes, kAlignment);
            const platform::AtomicRef counter(*counter_);
            // No look first: on a GPU it takes as long as the addition.
            const std::uint64_t offset = counter.add_relaxed(size);
            if (offset + size <= capacity_) return pool_ + offset;
            counter.min_relaxed(offset < capacity_ ? offset : capacity_);
            return nullptr;
        }
        HEAPWOOD_FN void deallocate(const Context&, void*, std::size_t) const {}
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t bytes) const {
            return platform::round_up<std::uint64_t>(bytes, kAlignment);
        }

    private:
        friend class AtomicMalloc;
        char* pool_;
        std::uint64_t* counter_;
        std::uint64_t capacity_;
    };

    explicit AtomicMalloc(const PoolConfig& config)
        : capacity_(config.bytes / kAlignment * kAlignment) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument("atomicmalloc needs a pool of at least 4096 bytes");
        }
        pool_ = Buffer(config.place, capacity_);
        counter_ = Buffer(config.place, sizeof(std::uint64_t));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.pool_ = pool_.as<char>();
        r.counter_ = counter_.as<std::uint64_t>();
        r.capacity_ = capacity_;
        return r;
    }
    void reset() { counter_.fill(0, 0, sizeof(std::uint64_t)); }
    std::uint64_t pool_bytes() const { return capacity_; }
    std::uint64_t overhead_bytes() const { return sizeof(std::uint64_t); }

    /// Two regions: everything handed out, and the rest.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::uint64_t used = 0;
        counter_.read(0, &used, sizeof(used));
        if (used > 0) visit(Region{0, used, true});
        if (used < capacity_) visit(Region{used, capacity_ - used, false});
    }

private:
    std::uint64_t capacity_;
    Buffer pool_;
    Buffer counter_;
};

static_assert(Allocator<AtomicMalloc>);

}  // namespace heapwood::allocators
