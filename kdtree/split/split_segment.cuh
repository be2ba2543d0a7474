/// @file
/// Split search over all planes at which a reference begins or ends, in several nodes of few
/// references at the same time: those of a warp's segments.
///
/// It makes the same choice as split_exact.cuh: of the same planes, by the same counts. But each
/// lane counts for the six ends of its own reference, which it has in registers, and looks at the
/// others' by shuffles. So no lane waits for a larger node, and no plane is looked for.
#pragma once

#include <cstdint>

#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/split/segment.cuh"

namespace heapwood::kdtree {

/// How many references of its node a lane has met along an axis: of their ends those before, or
/// beyond, the ends of its own reference. Floats, as in ExactSearch.
struct EndCounts {
    float begun = 0;   ///< lower ends below the own lower end
    float ended = 0;   ///< upper ends at it, or below
    float opened = 0;  ///< upper ends above the own upper end
    float closed = 0;  ///< lower ends at it, or above
};

/// Collective of the warp: the best split of each segment's cell, which holds its references, none
/// of which reaches out of it. `mine` is the lane's reference; `longest` the largest count of any
/// segment. ExactSearch::best says what is no plane.
template <class W>
HEAPWOOD_INLINE Choice best_of_segment(const Segment<W>& segment, const Reference& mine,
                                       const Box& cell, std::uint32_t longest,
                                       const CostModel& model) {
    EndCounts counts[3];
    HEAPWOOD_UNROLL(2)
    for (unsigned k = 0; k < longest; ++k) {
        // Past the segment's end a lane looks at its own reference, which is beyond none of its own
        // ends, unless it is flat; and then the loop below takes it off again.
        const unsigned other = segment.lane_of(k);
        HEAPWOOD_UNROLL_ALL
        for (unsigned axis = 0; axis < 3; ++axis) {
            const float lo = segment.shuffle(mine.lo[axis], other);
            const float hi = segment.shuffle(mine.hi[axis], other);
            counts[axis].begun += lo < mine.lo[axis] ? 1.0F : 0.0F;
            counts[axis].ended += hi <= mine.lo[axis] ? 1.0F : 0.0F;
            counts[axis].opened += hi > mine.hi[axis] ? 1.0F : 0.0F;
            counts[axis].closed += lo >= mine.hi[axis] ? 1.0F : 0.0F;
        }
    }
    // A flat reference that lies in the plane has not ended there: it is on the plane's own side.
    HEAPWOOD_UNROLL_ALL
    for (unsigned axis = 0; axis < 3; ++axis) {
        const bool flat = segment.holds() && mine.lo[axis] == mine.hi[axis];
        if (!segment.any(flat)) continue;
        const float place = flat ? mine.lo[axis] : kOutside;
        HEAPWOOD_UNROLL(1)
        for (unsigned k = 0; k < longest; ++k) {
            const float other = segment.shuffle(place, segment.lane_of(k));
            counts[axis].ended -= other == mine.lo[axis] ? 1.0F : 0.0F;
            counts[axis].closed -= other == mine.hi[axis] ? 1.0F : 0.0F;
        }
    }
    const CellMeasure measure(cell, model);
    const auto all = static_cast<float>(segment.count());
    BestSplit best;
    float best_position = 0;
    float best_left = 0;
    float best_right = 0;
    HEAPWOOD_UNROLL_ALL
    for (unsigned kind = 0; kind < 6; ++kind) {
        const unsigned axis = kind >> 1;
        const EndCounts& c = counts[axis];
        const float position = (kind & 1) == 0 ? mine.lo[axis] : mine.hi[axis];
        const float face = (kind & 1) == 0 ? cell.lo[axis] : cell.hi[axis];
        const float left = (kind & 1) == 0 ? c.begun : all - c.closed;
        const float right = (kind & 1) == 0 ? all - c.ended : c.opened;
        const std::uint32_t cost = platform::float_bits(measure.cost(axis, position, left, right));
        // Of equal costs the first kind wins.
        const bool better = segment.holds() & (position != face) & (cost < best.cost_bits);
        best.cost_bits = better ? cost : best.cost_bits;
        best.kind = better ? kind : best.kind;
        best_position = better ? position : best_position;
        best_left = better ? left : best_left;
        best_right = better ? right : best_right;
    }
    best.place = platform::float_ordered_bits(best_position);
    best.left = static_cast<std::uint32_t>(best_left);
    best.right = static_cast<std::uint32_t>(best_right);
    return choose(segment, best);
}

}  // namespace heapwood::kdtree
