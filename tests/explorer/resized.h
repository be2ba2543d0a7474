/// @file
/// An allocator of whose blocks a thread uses a part, or the explorer would have too much to watch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"

namespace heapwood::tests::explorer {

/// Base, asked for kBytes(used) bytes where `used` of them are used.
template <class Base, std::size_t (*kBytes)(std::size_t used)>
class Resized : public Base {
public:
    struct Ref {
        void* allocate(const allocators::Context& context, std::size_t used) const {
            return inner.allocate(context, kBytes(used));
        }
        void deallocate(const allocators::Context& context, void* p, std::size_t used) const {
            inner.deallocate(context, p, kBytes(used));
        }
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, kBytes(used));
        }

        typename Base::Ref inner;
    };

    using Base::Base;
    Ref ref() const { return {Base::ref()}; }
};

}  // namespace heapwood::tests::explorer
