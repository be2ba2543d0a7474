/// @file
/// The nearest point of a tree's triangles, for one point at a time, in any kernel and on any
/// thread of a CPU:
///
///     const kdtree::RayTree tree(built, scene, allocators::Place::device);     // on the host
///     push_out<<<blocks, threads>>>(tree.view(), ...);
///
///     __global__ void push_out(kdtree::RayTreeView tree, ...) {
///         const kdtree::Nearest nearest = kdtree::closest_point(tree, p, 0.1F);
///         if (nearest.found()) { ... nearest.distance, nearest.triangle, nearest.point }
///     }
///
/// distance_batch.h answers for many points at once.
///
/// Results are those of asking every triangle of the scene (nearest_on_triangle), bit for bit, on
/// every machine. (As for rays, g++ and clang need -ffp-contract=off where they are allowed to use
/// fused multiply-adds; heapwood::kdtree brings it.) Distances are compared as floats, and of
/// triangles at the same distance the one of the smallest number counts. A triangle without area is
/// an edge, or a point. A point that is not finite has no nearest point, nor has any in an empty
/// tree. A point so far away that the scene is less than 2^-19 of the distance is as near to all
/// triangles, as far as floats tell, so that all are asked.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"
#include "kdtree/distance/margins.cuh"
#include "kdtree/distance/triangle_point.cuh"
#include "kdtree/rays/ray_layout.cuh"

namespace heapwood::kdtree {

/// The nearest point of all triangles, at (1 - u - v) a + u b + v c of one of them.
struct Nearest {
    static constexpr std::uint32_t kNone = Hit::kNone;

    float distance;                  ///< infinity if there is none
    std::uint32_t triangle = kNone;  ///< its number, or kNone: then what follows has no value
    float u;
    float v;
    glm::vec3 point;
    Feature feature;    ///< what of the triangle the point lies in
    glm::dvec3 away;    ///< from there to the point asked for, in double precision
    glm::dvec3 normal;  ///< of the triangle, as long as twice its area

    HEAPWOOD_INLINE bool found() const { return triangle != kNone; }
};

/// The point of one triangle that is nearest to p.
/// @param reference of the triangle; Nearest::kNone: none is found
HEAPWOOD_INLINE Nearest nearest_of(const RayTreeView& tree, std::uint32_t reference,
                                   const glm::vec3& p) {
    Nearest nearest;
    nearest.distance = platform::bits_float(0x7F800000U);
    if (reference == Nearest::kNone) return nearest;
    const TriangleRows triangle = load_triangle(tree.triangle(reference));
    const NearestOnTriangle found = nearest_on_triangle(triangle, p);
    const auto between = [&](const CornerRow& k) {
        return static_cast<float>(k.a + rounded_product(found.u, double{k.b} - k.a) +
                                  rounded_product(found.v, double{k.c} - k.a));
    };
    nearest.distance = found.distance();
    nearest.triangle = triangle.number();
    nearest.u = static_cast<float>(found.u);
    nearest.v = static_cast<float>(found.v);
    nearest.point = {between(triangle.x), between(triangle.y), between(triangle.z)};
    nearest.feature = found.feature;
    nearest.away = found.away;
    nearest.normal = found.normal;
    return nearest;
}

/// A walk through the cells of a tree, nearest first, that asks triangles for the nearest point.
///
/// A child's distance follows from its parent's: it differs along the plane's axis alone. Cells
/// that wait are a stack; each is nearer than those below it that belong to the same ancestors. One
/// whose distance exceeds the best one ends its branch.
///
/// Cells count as nearer than computed, by margins.cuh, so that no triangle at the best distance is
/// missed.
class NearestWalk {
public:
    /// @param most distances beyond this do not count; itself does
    HEAPWOOD_INLINE NearestWalk(const RayTreeView& tree, const glm::vec3& p, float most)
        : tree_(tree), p_(p), aside_(detail::aside(tree.bounds)), best_(most) {
        set_limit();
    }

    /// Asks one triangle before the walk, which then ends sooner if that is a near one.
    HEAPWOOD_INLINE void begin_with(std::uint32_t reference) {
        if (is_asked()) ask(reference);
    }
    /// Of the nearest triangle, or Nearest::kNone.
    HEAPWOOD_INLINE std::uint32_t reference() const { return reference_; }
    HEAPWOOD_INLINE bool has_found() const { return reference_ != Nearest::kNone; }

    /// Walks. Nothing is found for a point that is not finite.
    HEAPWOOD_INLINE void run() {
        if (!is_asked()) return;
        Pending pending[kMaxDepth + 1];
        std::uint32_t waiting = 0;
        const auto outside = [](float lo, float hi, float at) {
            return greater_number(greater_number(lo - at, at - hi), 0);
        };
        const Box& box = tree_.bounds;
        Pending at{kRootPlace, outside(box.lo.x, box.hi.x, p_.x), outside(box.lo.y, box.hi.y, p_.y),
                   outside(box.lo.z, box.hi.z, p_.z)};
        for (;;) {
            RayNode node = tree_.node(at.place);
            if (!at.is_beyond(limit_)) {
                while (!node.is_leaf()) {
                    const unsigned axis = node.axis();
                    const float from_plane = component(p_, axis) - node.plane();
                    const std::uint32_t near = from_plane < 0 ? RayNode::kLow : RayNode::kHigh;
                    const std::uint32_t far = near ^ (RayNode::kLow | RayNode::kHigh);
                    if (!node.is_empty(far)) {
                        const Pending other = at.beside(node.child(far), axis, size(from_plane));
                        if (!other.is_beyond(limit_)) pending[waiting++] = other;
                    }
                    node = node.is_empty(near) ? RayNode::leaf(0, 0) : tree_.node(node.child(near));
                }
                const std::uint32_t end = node.first() + node.count();
                for (std::uint32_t i = node.first(); i < end; ++i) ask(i);
            }
            if (waiting == 0) return;
            at = pending[--waiting];
        }
    }

    /// Infinity if there is none.
    HEAPWOOD_INLINE float distance() const {
        return has_found() ? best_ : platform::bits_float(0x7F800000U);
    }

private:
    /// A cell, and how far p is from it along each axis.
    struct alignas(16) Pending {
        std::uint32_t place;  ///< as RayNode::child tells it
        float x;
        float y;
        float z;

        HEAPWOOD_INLINE bool is_beyond(float limit) const {
            return multiply_add(x, x, multiply_add(y, y, z * z)) > limit;
        }
        HEAPWOOD_INLINE Pending beside(std::uint32_t other, unsigned axis, float far) const {
            return {other, axis == 0 ? far : x, axis == 1 ? far : y, axis == 2 ? far : z};
        }
    };

    HEAPWOOD_INLINE bool is_asked() const {
        return 0 * p_.x + 0 * p_.y + 0 * p_.z == 0 && best_ >= 0;
    }
    HEAPWOOD_INLINE void set_limit() { limit_ = detail::square_limit(best_ + aside_); }

    HEAPWOOD_INLINE void ask(std::uint32_t reference) {
        const TriangleRows triangle = load_triangle(tree_.triangle(reference));
        const std::uint32_t number = triangle.number();
        if (number == triangle_ || is_farther(triangle, p_, limit_)) return;
        const float distance = nearest_on_triangle(triangle, p_).distance();
        if (!(distance < best_ || (distance == best_ && number < triangle_))) return;
        best_ = distance;
        triangle_ = number;
        reference_ = reference;
        set_limit();
    }

    const RayTreeView& tree_;
    glm::vec3 p_;
    float aside_;
    float best_;
    float limit_ = 0;
    std::uint32_t triangle_ = Nearest::kNone;
    std::uint32_t reference_ = Nearest::kNone;
};

/// The nearest point of all triangles, if it is at most `most` away; or one that is not found().
HEAPWOOD_FN inline Nearest closest_point(const RayTreeView& tree, const glm::vec3& p,
                                         float most = platform::bits_float(0x7F800000U)) {
    NearestWalk walk(tree, p, most);
    walk.run();
    return nearest_of(tree, walk.reference(), p);
}

/// How far it is; infinity where closest_point finds none.
HEAPWOOD_FN inline float distance(const RayTreeView& tree, const glm::vec3& p,
                                  float most = platform::bits_float(0x7F800000U)) {
    NearestWalk walk(tree, p, most);
    walk.run();
    return walk.distance();
}

}  // namespace heapwood::kdtree
