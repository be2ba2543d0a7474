/// @file
/// An allocator that lacks one thing of the contract, which a macro names; none: all of PoolOwner.
#pragma once

#include <cstdint>
#include <string>

#include "allocators/allocator.cuh"

namespace mine {

using heapwood::allocators::Context;
using heapwood::allocators::PoolConfig;
using heapwood::allocators::Traits;

struct Wrong {
#if !defined(WRONG_TRAITS)
    static constexpr Traits traits() {
        return {.name = "wrong",
                .title = "Wrong",
                .source = "a test of Heapwood",
                .frees_individually = false,
                .full = false,
                .walkable = false,
                .smallest_pool = 16};
    }
#endif
    struct Ref {
#if defined(WRONG_REF)
        std::string name;
#endif
#if defined(WRONG_ALLOCATE)
        HEAPWOOD_FN void* allocate(std::size_t) const {
            return nullptr;
        }
#else
        HEAPWOOD_FN void* allocate(const Context&, std::size_t) const {
            return nullptr;
        }
#endif
#if !defined(WRONG_DEALLOCATE)
        HEAPWOOD_FN void deallocate(const Context&, void*, std::size_t) const {}
#endif
#if !defined(WRONG_GRANTED)
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t) const {
            return 0;
        }
#endif
    };
#if defined(WRONG_CONSTRUCTOR)
    explicit Wrong(std::size_t) {}
#else
    explicit Wrong(const PoolConfig&) {}
#endif
    Wrong(const Wrong&) = delete;  // and no reset(): Complete<Wrong> has it
#if defined(WRONG_REF_FUNCTION)
    Ref ref() {
        return {};
    }
#else
    Ref ref() const {
        return {};
    }
#endif
#if defined(WRONG_RESET)
    bool reset() {
        return true;
    }
#endif
    std::uint64_t pool_bytes() const {
        return 16;
    }
#if !defined(WRONG_BYTES)
    std::uint64_t overhead_bytes() const {
        return 0;
    }
#endif
#if !defined(WRONG_REGIONS)
    template <class Visitor>
    void for_each_region(Visitor&&) const {}
#endif
};

}  // namespace mine
