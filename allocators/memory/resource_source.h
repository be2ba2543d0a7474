/// @file
/// A memory resource as a source of memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "allocators/memory/source.h"

namespace heapwood::allocators {

// The versions of clang-format lay out concepts differently.
// clang-format off

/// A resource of cuda::mr before CCCL 3.1, of RMM, or of std::pmr: it allocates without a stream.
template <class R>
concept Resource = requires(R r, void* p, std::size_t n) {
    { r.allocate(n, n) } -> std::convertible_to<void*>;
    r.deallocate(p, n, n);
};
/// A resource of cuda::mr from CCCL 3.1 on.
template <class R>
concept SynchronousResource = requires(R r, void* p, std::size_t n) {
    { r.allocate_sync(n, n) } -> std::convertible_to<void*>;
    r.deallocate_sync(p, n, n);
};
// clang-format on

/// Memory from a resource, which must outlive it: `cuda::mr::legacy_pinned_memory_resource`, RMM's
/// pools, `std::pmr::memory_resource`. allocate() throws what the resource throws.
template <class R>
requires Resource<R> || SynchronousResource<R>
class ResourceSource final : public MemorySource {
public:
    /// @param place Place::device if kernels can use the resource's memory
    ResourceSource(Place place, R& resource) : MemorySource(place), resource_(resource) {}

    void* allocate(std::uint64_t bytes) override {
        if constexpr (SynchronousResource<R>) {
            return resource_.allocate_sync(bytes, kAlignmentOfSources);
        } else {
            return resource_.allocate(bytes, kAlignmentOfSources);
        }
    }
    void deallocate(void* data, std::uint64_t bytes) noexcept override {
        if constexpr (SynchronousResource<R>) {
            resource_.deallocate_sync(data, bytes, kAlignmentOfSources);
        } else {
            resource_.deallocate(data, bytes, kAlignmentOfSources);
        }
    }

private:
    R& resource_;
};

}  // namespace heapwood::allocators
