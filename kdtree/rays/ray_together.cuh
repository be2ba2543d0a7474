/// @file
/// Rays whose lanes share the work of large leaves.
///
/// Where few of a warp's lanes have come to a leaf, or one of them to a much larger leaf than the
/// others, most lanes wait while these test triangle after triangle. Here a whole warp tests the
/// triangles of one such leaf at a time, each lane another one, for the ray of the lane that is
/// there. Results are those of a lane on its own.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/rays/ray_query.cuh"

namespace heapwood::kdtree {

/// Whether the warp helps the lanes that have triangles `left`, or they test on their own. Help is
/// for one lane at a time, and takes about as long as two tests.
template <platform::Warp W>
HEAPWOOD_INLINE bool helps(const W& warp, std::uint32_t waiting, std::uint32_t left) {
    constexpr unsigned kMost = 12;
    const unsigned lanes = platform::popcount(waiting);
    return lanes <= kMost && warp.max(left) > 2 * lanes;
}

/// Tests the triangles of the leaves where lanes are: `leaf` of those with `at`. Called by all
/// lanes.
template <class Query, platform::Warp W>
HEAPWOOD_INLINE void visit_together(const W& warp, const RayTreeView& tree, const RayNode& leaf,
                                    bool at, Query& query) {
    std::uint32_t i = leaf.first();
    std::uint32_t left = at ? leaf.count() : 0;
    std::uint32_t waiting = warp.ballot(left != 0);
    while (waiting != 0 && !helps(warp, waiting, left)) {
        if (left != 0) {
            query.test(tree, i++);
            left = query.is_done() ? 0 : left - 1;
        }
        waiting = warp.ballot(left != 0);
    }
    for (; waiting != 0; waiting &= waiting - 1) {
        const unsigned lane = platform::lowest_bit(waiting);
        const std::uint32_t first = warp.shuffle(i, lane);
        const std::uint32_t end = first + warp.shuffle(left, lane);
        Query helper = query.helper(warp, lane);
        for (std::uint32_t k = first + warp.lane(); k < end && !helper.is_done(); k += W::width) {
            helper.test(tree, k);
        }
        query.take(warp, helper, lane);
    }
}

}  // namespace heapwood::kdtree
