/// @file
/// Allocators that keep something in their callers' caches, for the tests of all allocators, whose
/// callers have none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/measure/adaptor.h"

namespace heapwood::tests {

/// An allocator whose callers have caches: of any four warps, two share one, and one has none.
/// Before a walk, and before a request that the test makes alone, the caches are flushed.
template <class A>
class Cached : public allocators::Adaptor<A> {
public:
    class Ref {
    public:
        void* allocate(const allocators::Context& context, std::size_t bytes) const {
            return inner_.allocate(cached(context), bytes);
        }
        bool allocate_pair(const allocators::Context& context, const std::size_t (&bytes)[2],
                           void* (&blocks)[2]) const requires
            allocators::AllocatesPairs<typename A::Ref> {
            return inner_.allocate_pair(cached(context), bytes, blocks);
        }
        void deallocate(const allocators::Context& context, void* p, std::size_t bytes) const {
            inner_.deallocate(cached(context), p, bytes);
        }
        std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            return inner_.granted_bytes(p, bytes);
        }

    private:
        friend class Cached;
        allocators::Context cached(allocators::Context context) const {
            context.cache = context.warp % 4 == 3 ? nullptr : &caches_[context.warp / 2];
            return context;
        }

        typename A::Ref inner_;
        allocators::CallerCache* caches_;
    };

    explicit Cached(const allocators::PoolConfig& config)
        : allocators::Adaptor<A>(config), caches_(config.callers / 2 + 1) {}

    Ref ref() const {
        flush();
        Ref r;
        r.inner_ = this->inner_.ref();
        r.caches_ = caches_.data();
        return r;
    }
    void reset() {
        this->inner_.reset();
        std::fill(caches_.begin(), caches_.end(), allocators::CallerCache{});
    }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        flush();
        this->inner_.for_each_region(visit);
    }

private:
    void flush() const {
        for (std::uint32_t i = 0; i < caches_.size(); ++i) {
            allocators::flush(this->inner_.ref(), {0, 2 * i, &caches_[i]});
        }
    }

    mutable std::vector<allocators::CallerCache> caches_;
};

}  // namespace heapwood::tests
