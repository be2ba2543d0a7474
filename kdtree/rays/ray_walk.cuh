/// @file
/// The walk of one ray through the leaves of a tree: what all queries share.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/rounding.cuh"
#include "kdtree/rays/ray_layout.cuh"
#include "kdtree/rays/ray_memory.cuh"

namespace heapwood::kdtree {

/// What a walk tells of its steps, by default: nothing, at no cost. ray_effort.cuh has one that
/// counts.
struct Unwatched {
    /// Whether all machines are to take the same steps. Hits are the same anyway; but where a
    /// machine rounds once in place of twice, a ray that just touches a cell may visit it or not.
    static constexpr bool kReproducible = false;
    /// Called for each inner node whose plane is compared with the ray.
    HEAPWOOD_INLINE void step() {}
};

/// Where along one ray planes are, to either side of the truth.
///
/// What a triangle test reports as a hit at t may be a little beside the triangle, and so in a cell
/// that does not have the triangle, and distances to planes are rounded. Hence every cell counts
/// as larger by a margin on all sides: 2^-19 of the largest absolute coordinate of the ray's
/// origin, or distance along an axis from there to the root's cell. That exceeds the error of
/// TriangleTest (at most 11 roundings of 2^-24) and the error of the distances here (at most 6)
/// together, so every leaf near a hit is visited, and its interval of t contains the hit's t. Where
/// t underflows, the margin is a constant. No cell is skipped for lying in a plane with the ray, or
/// for being flat.
///
/// The t of a plane is position * inverse plus a constant for each side of the margin: two fused
/// multiply-adds. Along an axis (nearly) at right angles to the ray the inverse is 2^64 times the
/// least of the others: the plane is nowhere near, unless the ray lies in it to within the margin;
/// then both sides are met all along.
///
/// Along an axis where the t of a plane might overflow, all t are NaN, and both sides of each plane
/// count as met all along: also the side where the ray never is, with all that its triangles reach
/// elsewhere. So then a hit does not end the walk early, and the slack is NaN too.
///
/// If Watch::kReproducible, a product and a sum take the place of each fused multiply-add.
template <class Watch>
struct RayPlanes {
    PlaneTimes x;
    PlaneTimes y;
    PlaneTimes z;
    /// No cell that is visited after one that ends at t begins before t - slack: twice the largest
    /// margin in t. NaN, where t might overflow: any may.
    float slack;
    /// The part of the ray in the root's cell, which is empty if from > to.
    float from;
    float to;

    HEAPWOOD_INLINE RayPlanes(const Box& bounds, const Ray& ray) {
        const glm::vec3& o = ray.origin;
        const glm::vec3& d = ray.direction;
        const auto reach_along = [](float lo, float hi, float origin) {
            return greater_number(size(origin),
                                  greater_number(size(lo - origin), size(hi - origin)));
        };
        const float reach =
            greater_number(reach_along(bounds.lo.x, bounds.hi.x, o.x),
                           greater_number(reach_along(bounds.lo.y, bounds.hi.y, o.y),
                                          reach_along(bounds.lo.z, bounds.hi.z, o.z)));
        const float longest = greater_number(size(d.x), greater_number(size(d.y), size(d.z)));
        // The constant is some hundred times the smallest float: rounding of the smallest scenes.
        const float margin = reach * 0x1p-19F + 0x1p-140F;
        // A component so small moves the ray by much less than the margin all through the scene.
        const float least = longest * 0x1p-64F;
        const float most = 0x1p64F / longest;
        // Planes and the origin are within twice the reach, so products with the inverse are finite
        // where this product is.
        const float most_distant = 4 * reach;
        slack = 0;
        float unknown = 0;  // or NaN
        const auto along = [&](float origin, float direction) {
            const float inverse = size(direction) > least ? 1 / direction : most;
            const float aside = multiply_add(margin, size(inverse), kUnderflow);
            const float known = 0 * (most_distant * inverse);  // or NaN
            slack = greater_number(slack, 2 * aside);
            unknown += known;
            return PlaneTimes{inverse, multiply_add(-origin, inverse, -aside) + known,
                              multiply_add(-origin, inverse, aside) + known,
                              inverse < 0 ? RayNode::kHigh : RayNode::kLow};
        };
        x = along(o.x, d.x);
        y = along(o.y, d.y);
        z = along(o.z, d.z);
        slack += unknown;
        from = ray.t_min;
        to = ray.t_max;
        cut(bounds.lo.x, bounds.hi.x, x);
        cut(bounds.lo.y, bounds.hi.y, y);
        cut(bounds.lo.z, bounds.hi.z, z);
    }

    /// The t of a plane: at the near side of the margin, and at its far side.
    HEAPWOOD_INLINE static float earliest(float plane, const PlaneTimes& times) {
        return multiply_add(plane, times.inverse, times.earlier);
    }
    HEAPWOOD_INLINE static float latest(float plane, const PlaneTimes& times) {
        return multiply_add(plane, times.inverse, times.later);
    }

private:
    /// Eight times the smallest float: more than all roundings of a t that underflows, a hit's
    /// among them.
    static constexpr float kUnderflow = 0x1p-146F;

    /// a * b + c.
    HEAPWOOD_INLINE static float multiply_add(float a, float b, float c) {
        if constexpr (Watch::kReproducible) {
            return rounded_product(a, b) + c;
        } else {
            return kdtree::multiply_add(a, b, c);
        }
    }

    HEAPWOOD_INLINE void cut(float lo, float hi, const PlaneTimes& times) {
        const bool from_high = times.near_side == RayNode::kHigh;
        from = greater_number(from, earliest(from_high ? hi : lo, times));
        to = lesser_number(to, latest(from_high ? lo : hi, times));
    }
};

/// Visits the leaves with references that a ray may meet, in the order in which the ray does:
///
///     for (RayWalk<OwnMemory> walk(tree, ray, memory); walk.descend(limit); walk.leave(limit)) {
///         // reference walk.leaf().first() and so on
///     }
///
/// `limit` is the largest t that is still of interest, which may shrink from call to call: a walk
/// ends before the first leaf that begins beyond it, or soon after. The ray must be valid.
///
/// @tparam Memory of ray_memory.cuh.
/// @tparam Watch is told of every step: see Unwatched.
template <class Memory, class Watch = Unwatched>
class RayWalk {
    using Planes = RayPlanes<Watch>;

public:
    /// A walk that has ended.
    HEAPWOOD_INLINE explicit RayWalk(Memory memory) : memory_(memory), watch_() {}
    HEAPWOOD_INLINE RayWalk(const RayTreeView& tree, const Ray& ray, Memory memory,
                            Watch watch = {})
        : memory_(memory), watch_(watch) {
        restart(tree, ray);
    }
    /// Begins anew, with another ray; the memory may have been left in use.
    HEAPWOOD_INLINE void restart(const RayTreeView& tree, const Ray& ray) {
        const Planes planes(tree.bounds, ray);
        memory_.set_planes(planes.x, planes.y, planes.z);
        memory_.clear();
        slack_ = planes.slack;
        from_ = planes.from;
        to_ = planes.to;
        node_ = tree.node(kRootPlace);
        if (from_ > to_ || (node_.is_leaf() && node_.count() == 0)) stop();
    }

    /// Goes on to a leaf, unless it is at one. False if there is none: the walk has ended.
    HEAPWOOD_INLINE bool descend(const RayTreeView& tree, float limit) {
        while (!node_.is_leaf()) step(tree, limit);
        return !has_ended();
    }
    /// The same, but after a step on a GPU pauses when fewer than `least` lanes of the warp are on
    /// their way to a leaf, so that the others need not wait for those few. False then, too. (A
    /// hint: which lanes count as together changes no result.)
    HEAPWOOD_INLINE bool descend(const RayTreeView& tree, float limit,
                                 [[maybe_unused]] unsigned least) {
        while (!node_.is_leaf()) {
            step(tree, limit);
#if defined(__CUDA_ARCH__)
            if (platform::popcount(__activemask()) < least) break;
#endif
        }
        return node_.is_leaf() && !has_ended();
    }
    HEAPWOOD_INLINE void stop() {
        node_ = RayNode::end();
    }
    HEAPWOOD_INLINE bool has_ended() const {
        return node_.is_end();
    }
    /// Where it is after descend.
    HEAPWOOD_INLINE RayNode leaf() const {
        return node_;
    }
    /// No hit in the leaf is before this t.
    HEAPWOOD_INLINE float from() const {
        return from_;
    }
    /// Leaves the leaf.
    HEAPWOOD_INLINE void leave(const RayTreeView& tree, float limit) {
        if (limit < to_ - slack_) {
            stop();
            return;
        }
        std::uint32_t place;
        do {
            place = resume(limit);
        } while (from_ > limit);
        node_ = tree.node(place);
    }

private:
    /// From an inner node to a child, or to what waits.
    HEAPWOOD_INLINE void step(const RayTreeView& tree, float limit) {
        const PlaneTimes times = memory_.planes(node_.axis());
        const float near_to = Planes::latest(node_.plane(), times);
        const float far_from = Planes::earliest(node_.plane(), times);
        watch_.step();
        const std::uint32_t far_side = times.near_side ^ (RayNode::kLow | RayNode::kHigh);
        const bool near = !(from_ > near_to) && !node_.is_empty(times.near_side);
        const bool far = !(far_from > to_) && !node_.is_empty(far_side);
        const std::uint32_t near_child = node_.child(times.near_side);
        const std::uint32_t far_child = near_child ^ RayNode::kHigh;
        const float later = greater_number(from_, far_from);
        std::uint32_t place = near ? near_child : far_child;
        if (near && far) memory_.push({far_child, later, to_});
        from_ = near ? from_ : later;
        to_ = near ? lesser_number(to_, near_to) : to_;
        if (!near && !far) place = resume(limit);
        node_ = tree.node(place);
    }
    /// Takes up what waits, and tells its place.
    HEAPWOOD_INLINE std::uint32_t resume(float limit) {
        const PendingNode next = memory_.pop();
        from_ = next.from;
        to_ = lesser_number(next.to, limit);
        return next.place;
    }

    Memory memory_;
    [[no_unique_address]] Watch watch_;
    RayNode node_ = RayNode::end();
    float from_ = 0;
    float to_ = 0;
    float slack_ = 0;
};

}  // namespace heapwood::kdtree
