/// @file
/// BuildPoolGrowth: what a builder does with a pool that may grow while a build runs, and how large
/// the pool is that a build can count on. For an allocator whose pool cannot grow it does nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "allocators/allocator.cuh"
#include "allocators/heap/growth_limits.h"
#include "allocators/measure/fragmentation.h"
#include "kdtree/build_result.h"

namespace heapwood::kdtree {

/// The growth of one builder's pool, from one build to the next.
class BuildPoolGrowth {
public:
    /// @param most bytes that the pool grows to; 0: it does not
    explicit BuildPoolGrowth(std::uint64_t most) : most_(most) {}

    /// The builder has another allocator, whose pool is as it was made.
    template <allocators::Allocator A>
    void begin(const A&, BuildResult& result) {
        if constexpr (allocators::GrowsAutomatically<A>) result.growth.emplace();
        united_ = 0;
        left_.reset();
    }
    /// Lets the pool grow while a build runs. @param root bytes of the root node's array
    /// @throws std::runtime_error with a sentence where a GPU cannot do that.
    template <allocators::Allocator A>
    void let_grow(A& allocator, std::uint64_t root) const {
        if constexpr (allocators::GrowsAutomatically<A>) {
            if (most_ == 0) return;
            allocator.grow_automatically(
                allocators::GrowthLimits{.step = kAmple * root, .most = most_});
        }
    }
    /// A build is about to begin: reset() is next. Handles of before may be invalid.
    template <allocators::Allocator A>
    void settle(A& allocator) {
        left_.reset();
        if constexpr (requires { allocator.settle_growth(); }) allocator.settle_growth();
    }
    /// How far the pool has grown by now.
    template <allocators::Allocator A>
    void note(const A& allocator, BuildResult& result) const {
        if constexpr (allocators::GrowsAutomatically<A>) {
            PoolGrowth& growth = result.growth.value();
            const std::uint32_t times = united_ + allocator.part_count() - 1;
            if (times > growth.times) result.enlarged = true;
            const std::uint64_t first = result.pool_bytes - growth.bytes;
            result.pool_bytes = allocator.pool_bytes();
            result.overhead_bytes = allocator.overhead_bytes();
            growth = {times, result.pool_bytes - first};
        }
    }
    /// After a build whose pool has grown by parts: the next builds have a pool in one part. What
    /// the build has left in its pool is kept for left_in().
    template <allocators::Allocator A>
    void unite_parts(A& allocator) {
        if constexpr (requires { allocator.unite_parts(); }) {
            if (allocator.part_count() == 1) return;
            left_ = allocators::measure_pool(allocator);
            united_ += allocator.part_count() - 1;
            allocator.unite_parts();
        }
    }
    /// What the last build has left in its pool.
    template <allocators::Allocator A>
    allocators::PoolUse left_in(const A& allocator) const {
        return left_ ? *left_ : allocators::measure_pool(allocator);
    }
    /// What kept a pool that can grow from serving a request; empty for others.
    template <allocators::Allocator A>
    std::string why_not_larger(const A& allocator, Status status) const {
        if constexpr (allocators::GrowsAutomatically<A>) {
            if (status != Status::pool_exhausted || most_ == 0) return {};
            const std::string refusal = allocator.growth_refusal();
            return "; " + (refusal.empty() ? "more memory for it came too late" : refusal);
        }
        return {};
    }

    /// Bytes that a build can count on, of a pool that has `bytes` now: a small pool grows before
    /// long.
    std::uint64_t expected_bytes(std::uint64_t bytes, std::uint64_t root) const {
        if (most_ <= bytes || bytes >= kRoomy * root) return bytes;
        return std::min(most_, std::max(bytes, kAmple * root));
    }
    /// The share of tiny nodes that wait for the third stage in a pool of that size. Their arrays
    /// are all live at the same time, and an allocator that cuts blocks front to back reuses no
    /// block in which one of them is. So the share is in proportion to what the pool has beyond 20
    /// times the root's array, which the other nodes need: none with 20 times, all with 48 times.
    static double tiny_share(std::uint64_t pool_bytes, std::uint64_t root) {
        const double times = static_cast<double>(pool_bytes) / static_cast<double>(root);
        return std::clamp((times - kRoomy) / (kAmple - kRoomy), 0.0, 1.0);
    }

private:
    /// Arrays of the root node that serve all of a build's nodes. A pool that grows does so by
    /// as many at least.
    static constexpr std::uint64_t kAmple = 48;
    /// With fewer of them no tiny node waits for the third stage.
    static constexpr std::uint64_t kRoomy = 20;

    const std::uint64_t most_;
    std::uint32_t united_ = 0;  ///< parts that the pool has had beside its first, and that are one
    std::optional<allocators::PoolUse> left_;  ///< by the last build, in a pool that is no more
};

}  // namespace heapwood::kdtree
