/// @file
/// Split search over all planes at which a reference begins or ends, for nodes of few references.
///
/// Every lane takes candidate planes in turn and counts, over all references, how many begin
/// below and how many end at or below: O(n^2) comparisons, but without sorting, branches or
/// atomics, and independent of the references' order.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "kdtree/sah.cuh"

namespace heapwood::kdtree {

/// Most references a node may have for this search (BuildConfig::exact_limit's bound).
inline constexpr unsigned kExactMax = 64;

/// The ends of a node's references along each axis.
struct Extents {
    struct Ends {
        float lo;
        float hi;
    };
    /// An even number, for references are read in pairs, and two more than needed, so that the
    /// three axes start in different banks of shared memory.
    alignas(16) Ends ends[3][kExactMax + 2];

    HEAPWOOD_INLINE void set(unsigned i, const glm::vec3& lo, const glm::vec3& hi) {
        ends[0][i] = {lo.x, hi.x};
        ends[1][i] = {lo.y, hi.y};
        ends[2][i] = {lo.z, hi.z};
    }
    /// Makes reference i one that is never counted: it fills the last pair.
    HEAPWOOD_INLINE void set_none(unsigned i) {
        const float beyond = platform::bits_float(0x7f800000U);
        for (auto& axis : ends) axis[i] = {beyond, beyond};
    }
};

/// Collective: the best split of a cell that holds n references, or a leaf. Entry n of `extents`
/// is none. `any_flat`: some reference lies in a plane across an axis.
///
/// Candidates are each reference's lower end, with what lies in the plane going right, and its
/// upper end, with what lies in the plane going left, all within the closed cell: a plane on the
/// cell's face cuts off a flat cell with the references in that face. A plane that would give one
/// child everything, cell and references, is none.
template <class W>
HEAPWOOD_FN Split split_exact(const W& warp, const Extents& extents, const Box& cell,
                              std::uint32_t n, bool any_flat, const CostModel& model) {
    const CellMeasure measure(cell, model);
    BestSplit best;
    const unsigned per_axis = 2 * n;
    for (unsigned c = warp.lane(); c < 3 * per_axis; c += W::width) {
        const unsigned axis = (c >= per_axis ? 1U : 0U) + (c >= 2 * per_axis ? 1U : 0U);
        const unsigned within = c - axis * per_axis;
        const Extents::Ends* ends = extents.ends[axis];
        const bool upper = within >= n;
        const float position = upper ? ends[within - n].hi : ends[within].lo;
        const float lo = component(cell.lo, axis);
        const float hi = component(cell.hi, axis);
        if (!(lo < hi) || position < lo || position > hi) continue;

        const Side side = upper ? Side::left : Side::right;
        std::uint32_t begun = 0;
        std::uint32_t ended = 0;
        HEAPWOOD_UNROLL(4)
        for (unsigned j = 0; j < n; j += 2) {
            begun += ends[j].lo < position;
            ended += ends[j].hi <= position;
            begun += ends[j + 1].lo < position;
            ended += ends[j + 1].hi <= position;
        }
        // What lies in the plane has ended without having begun.
        std::uint32_t in_plane = 0;
        if (any_flat) {
            for (unsigned j = 0; j < n; ++j) {
                in_plane += ends[j].lo == position && ends[j].hi == position;
            }
        }
        const std::uint32_t left = upper ? begun + in_plane : begun;
        const std::uint32_t right = upper ? n - ended : n - ended + in_plane;
        if ((left == 0 && position == lo) || (right == 0 && position == hi)) continue;
        best.offer(measure.cost(axis, position, left, right), axis, side, position, left, right);
    }
    return choose(warp, best, n, model);
}

}  // namespace heapwood::kdtree
