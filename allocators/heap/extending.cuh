/// @file
/// Extending: an allocator whose pool is one range of addresses, of which more and more has memory
/// while kernels use it.
///
/// **Structure.** The pool has the addresses of the largest size that it may have, and memory for
/// the first part of them. The allocator's tables are those of the largest size; what has no memory
/// yet counts, for the allocator, as in use. A request that finds nothing asks the host
/// for more by the protocol of growth_words.cuh. The host gives memory to the addresses that come
/// next, and the caller that brings its answer frees them to the pool. So all that an allocator has
/// beside its pool, callers' caches among it, goes on as if the pool had always been that large:
/// the way of a request that is served is that of a pool which cannot grow.
///
/// Growing (growing.cuh) makes a pool of its own of each part: that serves every allocator, and
/// memory whose size at the end is not known, but callers keep no cache in parts that have come
/// later.
///
/// **Between kernels** settle_growth() lays the pool out for what it has become. A builder calls it
/// before each build: builds after one whose pool has grown have what a pool of that size has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/heap/extending_ref.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/heap/growing_pool.h"
#include "allocators/memory/address_range.h"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

/// Until grow_automatically() it is an A as any other.
template <CanExtend A>
class Extending {
public:
    static constexpr Traits traits() { return A::traits(); }

    using Ref = ExtendingRef<A>;

    explicit Extending(const PoolConfig& config) : core_(std::make_unique<Core>(config)) {}

    /// From now on the pool grows while a kernel uses it: a call that finds no memory waits while
    /// the host maps more, for a bounded time. Frees all blocks; handles of before are invalid. A
    /// second call changes the limits, but for the most that the first one has said.
    /// @throws std::runtime_error if the device has no virtual memory calls, with a sentence that
    ///     says so
    void grow_automatically(const GrowthLimits& limits) {
        const std::lock_guard lock(core_->mutex);
        core_->begin_to_grow(limits);
    }
    /// Why the host last refused memory to a kernel, as a sentence; empty if it has not since the
    /// limits were set.
    std::string growth_refusal() const {
        const std::lock_guard lock(core_->mutex);
        return core_->refusal();
    }
    /// One more than the times that it has grown.
    std::uint32_t part_count() const {
        const std::lock_guard lock(core_->mutex);
        return core_->part_count();
    }
    /// Lays the pool out for its present size, if it has grown. Frees all blocks: the caller calls
    /// reset() next. Earlier handles are invalid.
    void settle_growth() {
        const std::lock_guard lock(core_->mutex);
        core_->lay_out();
    }

    Ref ref() const {
        const std::lock_guard lock(core_->mutex);
        Ref ref;
        ref.ref_ = core_->allocator->ref();
        ref.growth_ = core_->caller();
        ref.asks_at_once_ = core_->range != nullptr && core_->allocator->expects_more();
        ref.count_ = core_->parts_at_first();
        return ref;
    }
    void reset() {
        const std::lock_guard lock(core_->mutex);
        core_->allocator->reset();
        core_->tell_between_kernels();
    }
    std::uint64_t pool_bytes() const {
        const std::lock_guard lock(core_->mutex);
        return core_->pool_bytes();
    }
    std::uint64_t overhead_bytes() const {
        const std::lock_guard lock(core_->mutex);
        return core_->allocator->overhead_bytes() + core_->words_bytes();
    }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        const std::lock_guard lock(core_->mutex);
        std::as_const(*core_->allocator).for_each_region(visit);
    }

private:
    /// Where the thread of the host finds it when the owner has moved.
    struct Core final : heap::GrowingPool {
        explicit Core(const PoolConfig& pool)
            : GrowingPool(pool.place), config(pool), allocator(std::make_unique<A>(pool)) {
            ends[0] = allocator->pool_bytes();
            tell_between_kernels();
        }
        ~Core() { stop(); }

        std::uint32_t part_count() const override { return parts; }
        std::uint32_t parts_at_first() const override { return laid_out; }
        std::uint64_t pool_bytes() const override { return ends[parts - 1]; }
        std::uint64_t smallest_part() const override { return allocator->block_bytes(); }
        void add(std::uint64_t bytes) override {
            const std::uint64_t block = allocator->block_bytes();
            const std::uint64_t end =
                std::min(range_bytes, platform::round_up(pool_bytes() + bytes, block));
            range->map_to(end);
            ends[parts] = end;
            tell_end(parts++, end);
        }

        void begin_to_grow(const GrowthLimits& new_limits) {
            set_limits(new_limits);
            if (range == nullptr) {
                PoolConfig most = config;
                most.bytes = std::max(new_limits.most, config.bytes);
                allocator.reset();  // there may be no room for two pools
                range = std::make_unique<AddressRange>(config.place, most.bytes, device());
                range->map_to(config.bytes);
                allocator = std::make_unique<A>(most, config.bytes, *range);
                ends[0] = allocator->pool_bytes();
                set_range(most.bytes);
            }
            tell_between_kernels();
        }
        void lay_out() {
            if (laid_out == parts) return;
            laid_out = parts;
            allocator->begin_with(pool_bytes());
            set_range(range_bytes);
        }
        void set_range(std::uint64_t bytes) {
            range_bytes = bytes / allocator->block_bytes() * allocator->block_bytes();
        }

        const PoolConfig config;
        std::unique_ptr<AddressRange> range;  ///< nullptr until the pool may grow
        std::unique_ptr<A> allocator;
        std::uint64_t range_bytes = 0;  ///< whole blocks
        std::uint32_t parts = 1;
        std::uint32_t laid_out = 1;              ///< parts that the allocator begins with
        std::uint64_t ends[heap::kMostParts]{};  ///< of the parts, bytes from the pool's start
    };

    std::unique_ptr<Core> core_;
};

namespace detail {

template <class A>
struct GrowingForBuilds {
    using Type = Growing<A>;
};
template <class A>
requires CanExtend<typename A::Extensible>
struct GrowingForBuilds<A> {
    using Type = Extending<typename A::Extensible>;
};

}  // namespace detail

/// A, with a pool that grows while a build runs: at its end where A can do that, else by parts.
template <CanGrow A>
using GrowingForBuilds = typename detail::GrowingForBuilds<A>::Type;

}  // namespace heapwood::allocators
