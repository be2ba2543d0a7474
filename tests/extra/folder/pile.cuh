/// @file
/// PilePool: an allocator that exists, as an allocator of Heapwood. What it lacks, reset() and that
/// it can be moved, Heapwood adds by making a pool anew.
#pragma once

#include <pile.h>

#include <cstdint>
#include <stdexcept>

#include "allocators/contract.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/macros.cuh"

namespace mine {

namespace allocators = heapwood::allocators;

class PilePool {
public:
    static constexpr allocators::Traits traits() {
        return {.name = "pile",
                .title = "Pile",
                .source = "a test of Heapwood",
                .frees_individually = false,
                .full = false,
                .walkable = false,
                .smallest_pool = std::uint64_t{64} << 10,
                .one_at_a_time = true};
    }

    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const allocators::Context&, std::size_t bytes) const {
            return pile_malloc(memory_, size_, top_, bytes, 0);
        }
        HEAPWOOD_FN void deallocate(const allocators::Context&, void*, std::size_t) const {}
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t) const { return 0; }

    private:
        friend class PilePool;
        char* memory_;
        std::size_t size_;
        pile_top* top_;
    };

    explicit PilePool(const allocators::PoolConfig& config)
        : memory_(config.place, checked(config.bytes)),
          top_(zeroed(config.place)),
          pile_(memory_.as<char>(), config.bytes, top_.as<pile_top>()) {}

    Ref ref() const {
        Ref r;
        r.memory_ = pile_.memory;
        r.size_ = pile_.size;
        r.top_ = pile_.top;
        return r;
    }
    std::uint64_t pool_bytes() const { return pile_.size; }
    std::uint64_t overhead_bytes() const { return sizeof(pile_top); }
    template <class Visitor>
    void for_each_region(Visitor&&) const {}

private:
    static std::uint64_t checked(std::uint64_t bytes) {
        if (bytes >= traits().smallest_pool) return bytes;
        throw std::invalid_argument("pile needs a pool of at least 64 KiB");
    }
    static allocators::Buffer zeroed(allocators::Place place) {
        allocators::Buffer top(place, sizeof(pile_top));
        top.zero();
        return top;
    }

    allocators::Buffer memory_;
    allocators::Buffer top_;
    Pile pile_;
};

static_assert(allocators::keeps_contract<PilePool>());

}  // namespace mine
