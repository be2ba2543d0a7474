/// @file
/// All triangles that meet a ball or a box, one region at a time, in any kernel and on any thread.
///
/// Each triangle counts once, however many leaves have it, and nothing is kept in memory for that:
/// in a leaf a triangle counts if no earlier leaf of the same walk has it. To know, the walk is
/// repeated with that part of the region's box in which the triangle's own box lies, up to the
/// leaf. Region, triangle and leaf meet each other in pairs, and boxes that do so have a point in
/// common, so the leaf is among those of the shorter walk.
///
/// Regions of regions.cuh. Results are those of asking every triangle, on every machine.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"
#include "kdtree/distance/regions.cuh"
#include "kdtree/model/sort_numbers.cuh"
#include "kdtree/rays/ray_layout.cuh"

namespace heapwood::kdtree {

namespace detail {

/// Calls visit(place, leaf) for leaves with references whose cells meet a box, in the order of the
/// tree, until it returns false.
template <class Visit>
HEAPWOOD_INLINE void for_leaves(const RayTreeView& tree, const Box& box, const Visit& visit) {
    std::uint32_t pending[kMaxDepth + 1];
    std::uint32_t waiting = 0;
    std::uint32_t place = kRootPlace;
    for (;;) {
        const RayNode node = tree.node(place);
        bool low = false;
        bool high = false;
        if (node.is_leaf()) {
            if (!visit(place, node)) return;
        } else {
            const unsigned axis = node.axis();
            low = component(box.lo, axis) <= node.plane() && !node.is_empty(RayNode::kLow);
            high = component(box.hi, axis) >= node.plane() && !node.is_empty(RayNode::kHigh);
        }
        if (low && high) pending[waiting++] = node.child(RayNode::kHigh);
        if (low || high) {
            place = node.child(low ? RayNode::kLow : RayNode::kHigh);
        } else if (waiting > 0) {
            place = pending[--waiting];
        } else {
            return;
        }
    }
}

/// Whether no leaf before the one at `place` has the triangle.
HEAPWOOD_INLINE bool is_first(const RayTreeView& tree, const Box& reach, std::uint32_t place,
                              const TriangleRows& triangle) {
    const glm::vec2 x = overlap(triangle.x, reach.lo.x, reach.hi.x);
    const glm::vec2 y = overlap(triangle.y, reach.lo.y, reach.hi.y);
    const glm::vec2 z = overlap(triangle.z, reach.lo.z, reach.hi.z);
    const Box both{{x.x, y.x, z.x}, {x.y, y.y, z.y}};
    bool first = true;
    for_leaves(tree, both, [&](std::uint32_t at, const RayNode& leaf) {
        if (at == place) return false;
        const std::uint32_t end = leaf.first() + leaf.count();
        for (std::uint32_t i = leaf.first(); first && i < end; ++i) {
            first = load_row(tree.triangle(i)).triangle != triangle.number();
        }
        return first;
    });
    return first;
}

/// Calls take(number) once for each triangle that meets the region, until it returns false.
template <class Region, class Take>
HEAPWOOD_INLINE void for_triangles(const RayTreeView& tree, const Region& region,
                                   const Take& take) {
    if (region.is_empty()) return;
    const Box reach = region.reach(tree.bounds);
    for_leaves(tree, reach, [&](std::uint32_t place, const RayNode& leaf) {
        const std::uint32_t end = leaf.first() + leaf.count();
        for (std::uint32_t i = leaf.first(); i < end; ++i) {
            const TriangleRows triangle = load_triangle(tree.triangle(i));
            if (!region.meets(triangle) || !is_first(tree, reach, place, triangle)) continue;
            if (!take(triangle.number())) return false;
        }
        return true;
    });
}

}  // namespace detail

/// Whether any triangle meets the region.
template <class Region>
HEAPWOOD_FN inline bool any_in(const RayTreeView& tree, const Region& region) {
    bool any = false;
    detail::for_triangles(tree, region, [&](std::uint32_t) {
        any = true;
        return false;
    });
    return any;
}

/// How many triangles meet the region.
template <class Region>
HEAPWOOD_FN inline std::uint32_t count_in(const RayTreeView& tree, const Region& region) {
    std::uint32_t count = 0;
    detail::for_triangles(tree, region, [&](std::uint32_t) {
        ++count;
        return true;
    });
    return count;
}

/// Their numbers, ascending, to where there is room for as many as count_in finds.
template <class Region>
HEAPWOOD_FN inline void list_in(const RayTreeView& tree, const Region& region,
                                std::uint32_t* numbers) {
    std::uint32_t count = 0;
    detail::for_triangles(tree, region, [&](std::uint32_t number) {
        numbers[count++] = number;
        return true;
    });
    sort_numbers(numbers, count);
}

}  // namespace heapwood::kdtree
