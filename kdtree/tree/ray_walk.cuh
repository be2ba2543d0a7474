/// @file
/// The walk of one ray through the leaves of a tree: what all queries share.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/rounding.cuh"
#include "kdtree/tree/ray_layout.cuh"
#include "kdtree/tree/ray_stack.cuh"

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
/// If kReproducible, a product and a sum take the place of each fused multiply-add.
template <bool kReproducible = false>
class PlaneTimes {
public:
    /// Also the part of the ray in the root's cell, which is empty if from > to.
    HEAPWOOD_INLINE PlaneTimes(const Box& bounds, const Ray& ray, float& from, float& to) {
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
        inverse_ = {size(d.x) > least ? 1 / d.x : most, size(d.y) > least ? 1 / d.y : most,
                    size(d.z) > least ? 1 / d.z : most};
        const glm::vec3 aside{multiply_add(margin, size(inverse_.x), kUnderflow),
                              multiply_add(margin, size(inverse_.y), kUnderflow),
                              multiply_add(margin, size(inverse_.z), kUnderflow)};
        // Planes and the origin are within twice the reach, so products with the inverse are finite
        // where this product is. Zero there, else NaN.
        const float most_distant = 4 * reach;
        const glm::vec3 known{0 * (most_distant * inverse_.x), 0 * (most_distant * inverse_.y),
                              0 * (most_distant * inverse_.z)};
        slack_ = 2 * greater_number(aside.x, greater_number(aside.y, aside.z)) +
                 (known.x + known.y + known.z);
        later_ = {multiply_add(-o.x, inverse_.x, aside.x) + known.x,
                  multiply_add(-o.y, inverse_.y, aside.y) + known.y,
                  multiply_add(-o.z, inverse_.z, aside.z) + known.z};
        earlier_ = {multiply_add(-o.x, inverse_.x, -aside.x) + known.x,
                    multiply_add(-o.y, inverse_.y, -aside.y) + known.y,
                    multiply_add(-o.z, inverse_.z, -aside.z) + known.z};
        from = ray.t_min;
        to = ray.t_max;
        cut(bounds.lo.x, bounds.hi.x, inverse_.x, earlier_.x, later_.x, from, to);
        cut(bounds.lo.y, bounds.hi.y, inverse_.y, earlier_.y, later_.y, from, to);
        cut(bounds.lo.z, bounds.hi.z, inverse_.z, earlier_.z, later_.z, from, to);
    }

    /// The children of a node: where the near one ends and the far one begins.
    struct Crossing {
        float near_to;
        float far_from;
        std::uint32_t near_side;  ///< RayNode::kLow or kHigh
    };
    HEAPWOOD_INLINE Crossing at(const RayNode& node) const {
        const unsigned axis = node.axis();
        const float inverse = component(inverse_, axis);
        return {multiply_add(node.plane(), inverse, component(later_, axis)),
                multiply_add(node.plane(), inverse, component(earlier_, axis)),
                inverse < 0 ? RayNode::kHigh : RayNode::kLow};
    }

    /// No cell that is visited after one that ends at t begins before t - slack(). NaN: any may.
    HEAPWOOD_INLINE float slack() const { return slack_; }

private:
    /// Eight times the smallest float: more than all roundings of a t that underflows, a hit's
    /// among them.
    static constexpr float kUnderflow = 0x1p-146F;

    /// a * b + c.
    HEAPWOOD_INLINE static float multiply_add(float a, float b, float c) {
        if constexpr (kReproducible) {
            return rounded_product(a, b) + c;
        } else {
            return kdtree::multiply_add(a, b, c);
        }
    }

    HEAPWOOD_INLINE static void cut(float lo, float hi, float inverse, float earlier, float later,
                                    float& from, float& to) {
        from = greater_number(from, multiply_add(inverse < 0 ? hi : lo, inverse, earlier));
        to = lesser_number(to, multiply_add(inverse < 0 ? lo : hi, inverse, later));
    }

    glm::vec3 inverse_;  ///< of the direction's components
    glm::vec3 earlier_;  ///< what to add for the near side of the margin,
    glm::vec3 later_;    ///< and for its far side
    float slack_;        ///< twice the largest margin in t; NaN where t might overflow
};

/// Visits the leaves with references that a ray may meet, in the order in which the ray does:
///
///     for (RayWalk<LocalStack> walk(tree, ray, stack); walk.descend(limit); walk.leave(limit)) {
///         // reference walk.leaf().first() and so on
///     }
///
/// `limit` is the largest t that is still of interest, which may shrink from call to call: cells
/// that begin beyond it are left out. The ray must be valid.
///
/// @tparam Watch is told of every step: see Unwatched.
template <class Stack, class Watch = Unwatched>
class RayWalk {
    using Planes = PlaneTimes<Watch::kReproducible>;

public:
    /// A walk that has ended.
    HEAPWOOD_INLINE explicit RayWalk(Stack stack)
        : stack_(stack),
          watch_(),
          planes_({{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {1, 0, 0}, 0, 0}, from_, to_) {
        stop();
    }
    HEAPWOOD_INLINE RayWalk(const RayTreeView& tree, const Ray& ray, Stack stack, Watch watch = {})
        : stack_(stack), watch_(watch), planes_(tree.bounds, ray, from_, to_) {
        begin(tree);
    }
    /// Begins anew, with another ray; the stack may have been left in use.
    HEAPWOOD_INLINE void restart(const RayTreeView& tree, const Ray& ray) {
        planes_ = Planes(tree.bounds, ray, from_, to_);
        stack_.clear();
        begin(tree);
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
        node_.tagged = kEnded;
    }
    HEAPWOOD_INLINE bool has_ended() const {
        return node_.tagged == kEnded;
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
        if (limit < to_ - planes_.slack()) {
            stop();
        } else {
            resume(tree, limit);
        }
    }

private:
    /// A leaf of this tag ends a walk.
    static constexpr std::uint32_t kEnded = 0xFFFFFFFFU;

    HEAPWOOD_INLINE void begin(const RayTreeView& tree) {
        node_ = tree.root;
        if (from_ > to_ || (node_.is_leaf() && node_.count() == 0)) stop();
    }
    /// From an inner node to a child, or to what waits on the stack.
    HEAPWOOD_INLINE void step(const RayTreeView& tree, float limit) {
        const typename Planes::Crossing c = planes_.at(node_);
        watch_.step();
        const std::uint32_t far_side = c.near_side ^ (RayNode::kLow | RayNode::kHigh);
        const bool near = !(from_ > c.near_to) && !node_.is_empty(c.near_side);
        const bool far = !(c.far_from > to_) && !node_.is_empty(far_side);
        if (near || far) {
            const std::uint32_t near_child = node_.child(c.near_side);
            const std::uint32_t far_child = near_child ^ RayNode::kHigh;
            const float later = greater_number(from_, c.far_from);
            if (near && far) stack_.push({far_child, later, to_});
            from_ = near ? from_ : later;
            to_ = near ? lesser_number(to_, c.near_to) : to_;
            node_ = tree.node(near ? near_child : far_child);
        } else {
            resume(tree, limit);
        }
    }
    /// Takes the next node from the stack.
    HEAPWOOD_INLINE void resume(const RayTreeView& tree, float limit) {
        PendingNode next;
        do {
            next = stack_.pop();
        } while (next.from > limit);
        if (next.place == kNoNode) {
            stop();
            return;
        }
        from_ = next.from;
        to_ = lesser_number(next.to, limit);
        node_ = tree.node(next.place);
    }

    Stack stack_;
    [[no_unique_address]] Watch watch_;
    RayNode node_{};
    float from_ = 0;
    float to_ = 0;
    Planes planes_;
};

}  // namespace heapwood::kdtree
