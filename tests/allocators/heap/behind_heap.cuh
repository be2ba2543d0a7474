/// @file
/// BehindHeap: an allocator whose blocks come from a Heap, so that the conformance suite tests
/// heaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/heap.cuh"
#include "allocators/measure/adaptor.h"

namespace heapwood::tests {

/// malloc and free of a heap over A, which get neither the Context nor a size at the free.
template <allocators::Allocator A>
class BehindHeap {
    using Context = allocators::Context;

public:
    static constexpr std::uint64_t kExtraBytes = allocators::kAlignment;
    static constexpr allocators::Traits traits() {
        allocators::Traits traits = A::traits();
        traits.splittable = false;
        // A block does not begin where its region does.
        traits.shares_regions = true;
        return traits;
    }

    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context&, std::size_t bytes) const {
            return bytes == 0 ? nullptr : heap_.malloc(bytes);
        }
        HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t) const { heap_.free(p); }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t) const {
            return heap_.usable_size(p);
        }

    private:
        friend class BehindHeap;
        allocators::HeapRef<A> heap_;
    };

    explicit BehindHeap(const allocators::PoolConfig& config)
        : heap_({.bytes = config.bytes, .place = config.place, .callers = config.callers}) {}

    Ref ref() const {
        Ref ref;
        ref.heap_ = heap_.ref();
        return ref;
    }
    void reset() { heap_.reset(); }
    std::uint64_t pool_bytes() const { return heap_.pool_bytes(); }
    std::uint64_t overhead_bytes() const { return heap_.overhead_bytes(); }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        heap_.allocator().for_each_region(visit);
    }
    // clang-format off
    std::string failure_note() const requires allocators::RefusesToOverwrite<A> {
        return heap_.allocator().failure_note();
    }
    // clang-format on

private:
    allocators::Heap<A> heap_;
};

}  // namespace heapwood::tests
