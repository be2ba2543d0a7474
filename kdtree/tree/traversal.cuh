/// @file
/// Rays through a finished tree.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"
#include "kdtree/model/box.cuh"
#include "kdtree/model/triangle.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// A tree and its scene where a kernel, or a host thread, can read them. Owns nothing. The tree is
/// one that verify accepts, so no deeper than kMaxDepth.
struct TreeView {
    const Node* nodes;
    const std::uint32_t* references;
    const glm::vec3* positions;
    const glm::uvec3* triangles;  ///< indices into positions
    Box bounds;                   ///< the root's cell
};

/// A walk of one ray through the cells of a tree.
///
/// What TriangleTest reports as a hit at t may be a little beside the triangle, and so in a cell
/// that does not have the triangle, and distances to planes are rounded. Hence every cell counts
/// as larger by a margin on all sides: 2^-19 of the largest distance along an axis from the ray's
/// origin to the root's cell. That exceeds the error of TriangleTest (at most 11 roundings of
/// 2^-24) and the error of the distances here (at most 5) together, so every leaf near a hit is
/// visited, and its interval of t contains the hit's t. No cell is skipped for lying in a plane
/// with the ray, or for being flat.
class Traversal {
public:
    HEAPWOOD_FN Traversal(const TreeView& tree, const Ray& ray) : tree_(tree), ray_(ray) {
        const auto size = [](float v) { return v < 0 ? -v : v; };
        float reach = 0;
        float longest = 0;
        for (unsigned k = 0; k < 3; ++k) {
            const float origin = component(ray.origin, k);
            reach = greater(reach, size(component(tree.bounds.lo, k) - origin));
            reach = greater(reach, size(component(tree.bounds.hi, k) - origin));
            longest = greater(longest, size(component(ray.direction, k)));
        }
        // The constant is some hundred times the smallest float: rounding of the smallest scenes.
        margin_ = reach * 0x1p-19F + 0x1p-140F;
        // A component so small moves the ray by much less than the margin all through the scene.
        const float least = longest * 0x1p-64F;
        inverse_ = {0, 0, 0};
        for (unsigned k = 0; k < 3; ++k) {
            const float d = component(ray.direction, k);
            if (size(d) > least) set_component(inverse_, k, 1 / d);
        }
    }

    /// Visits the leaves that the ray may meet, the nearer child first: visit(leaf) returns the
    /// largest t that is still of interest, and cells that begin beyond it are left out.
    template <class Visit>
    HEAPWOOD_FN void operator()(Visit&& visit) const {
        struct Pending {
            std::uint32_t node;
            float from;
            float to;
        };
        Pending stack[kMaxDepth];  // one for each level but the root's
        unsigned waiting = 0;
        Pending at{0, ray_.t_min, ray_.t_max};
        if (!enter_root(at.from, at.to)) return;
        float limit = ray_.t_max;
        for (;;) {
            Node node = tree_.nodes[at.node];
            while (!node.is_leaf()) {
                const Children c = step(node, at.from, at.to);
                if (c.near && c.far) {
                    stack[waiting++] = {node.child() + c.second, greater(at.from, c.far_from),
                                        at.to};
                }
                if (!c.near && !c.far) break;
                if (c.near) {
                    at = {node.child() + 1 - c.second, at.from, lesser(at.to, c.near_to)};
                } else {
                    at = {node.child() + c.second, greater(at.from, c.far_from), at.to};
                }
                node = tree_.nodes[at.node];
            }
            if (node.is_leaf()) limit = visit(node);
            do {
                if (waiting == 0) return;
                at = stack[--waiting];
            } while (at.from > limit);
        }
    }

private:
    /// What of a node's children the ray meets.
    struct Children {
        bool near;
        bool far;
        std::uint32_t second;  ///< which child is the far one: 0 or 1
        float near_to;
        float far_from;
    };

    /// The children's part of the interval from `from` to `to`. Without speed along the axis both
    /// children may be met all along.
    HEAPWOOD_INLINE Children step(const Node& node, float from, float to) const {
        const unsigned axis = node.axis();
        const float distance = node.split() - component(ray_.origin, axis);
        const float inverse = component(inverse_, axis);
        if (inverse == 0) {
            return {distance >= -margin_, distance <= margin_, 1, to, from};
        }
        const float outward = inverse > 0 ? margin_ : -margin_;
        const float near_to = (distance + outward) * inverse;
        const float far_from = (distance - outward) * inverse;
        return {from <= near_to, far_from <= to, inverse > 0 ? 1U : 0U, near_to, far_from};
    }

    /// Cuts the interval to the root's cell; false if nothing is left.
    HEAPWOOD_INLINE bool enter_root(float& from, float& to) const {
        for (unsigned k = 0; k < 3; ++k) {
            const float below = component(tree_.bounds.lo, k) - component(ray_.origin, k) - margin_;
            const float above = component(tree_.bounds.hi, k) - component(ray_.origin, k) + margin_;
            const float inverse = component(inverse_, k);
            if (inverse == 0) {
                if (below > 0 || above < 0) return false;
                continue;
            }
            from = greater(from, (inverse > 0 ? below : above) * inverse);
            to = lesser(to, (inverse > 0 ? above : below) * inverse);
        }
        return from <= to;
    }

    const TreeView& tree_;
    const Ray& ray_;
    float margin_;
    glm::vec3 inverse_;  ///< of the direction's components; 0 for those (nearly) 0
};

/// The triangle that the ray meets first, and among several at the same t the one of the smallest
/// number: exactly what testing all triangles would find.
HEAPWOOD_FN inline Hit closest_hit(const TreeView& tree, const Ray& ray) {
    const TriangleTest test(ray);
    Hit best{};
    best.t = ray.t_max;
    Traversal(tree, ray)([&](const Node& leaf) {
        for (std::uint32_t i = leaf.first(); i < leaf.first() + leaf.count(); ++i) {
            Hit hit{};
            hit.triangle = tree.references[i];
            const glm::uvec3 t = tree.triangles[hit.triangle];
            if (!test(tree.positions[t.x], tree.positions[t.y], tree.positions[t.z], hit)) continue;
            if (hit.t < best.t || (hit.t == best.t && hit.triangle < best.triangle)) best = hit;
        }
        return best.t;
    });
    return best;
}

/// Whether the ray meets any triangle.
HEAPWOOD_FN inline bool any_hit(const TreeView& tree, const Ray& ray) {
    const TriangleTest test(ray);
    bool found = false;
    Traversal(tree, ray)([&](const Node& leaf) {
        for (std::uint32_t i = leaf.first(); !found && i < leaf.first() + leaf.count(); ++i) {
            Hit hit{};
            const glm::uvec3 t = tree.triangles[tree.references[i]];
            found = test(tree.positions[t.x], tree.positions[t.y], tree.positions[t.z], hit);
        }
        // Nothing begins before minus infinity.
        return found ? -platform::bits_float(0x7F800000U) : ray.t_max;
    });
    return found;
}

}  // namespace heapwood::kdtree
