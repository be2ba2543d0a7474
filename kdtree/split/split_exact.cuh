/// @file
/// Split search over all planes at which a reference begins or ends, for nodes of few references.
///
/// Every lane takes candidate planes in turn and counts, over all references, how many begin
/// below and how many end at or below: O(n^2) comparisons, but without sorting, branches or
/// atomics, and independent of the references' order.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "kdtree/model/sah.cuh"

namespace heapwood::kdtree {

/// Most references a node may have for this search (BuildConfig::exact_limit's bound).
inline constexpr unsigned kExactMax = 64;

/// The next float above v, and below it (v finite).
HEAPWOOD_INLINE float next_up(float v) {
    const std::uint32_t bits = platform::float_bits(v);
    return platform::bits_float(v == 0 ? 1U : v > 0 ? bits + 1 : bits - 1);
}
HEAPWOOD_INLINE float next_down(float v) {
    return -next_up(-v);
}

/// The ends of a node's references along each axis, and for every candidate plane how many
/// references are on either side.
///
/// Candidate 2 n * axis + i, i < n, is the lower end of reference i (what lies in the plane goes
/// right), n + i its upper end (what lies in the plane goes left). A reference that is flat across
/// the axis is on one side only, whichever the candidate says; to that end its other end is moved
/// by one float, so that two comparisons tell for any reference whether it is left and right.
class ExactSearch {
public:
    /// Enters reference i of n. By one lane for each reference.
    HEAPWOOD_INLINE void set(unsigned i, const glm::vec3& lo, const glm::vec3& hi) {
        set(0, i, lo.x, hi.x);
        set(1, i, lo.y, hi.y);
        set(2, i, lo.z, hi.z);
    }

    /// Collective, after all n references have been set and a sync: counts for all candidates.
    template <class W>
    HEAPWOOD_FN void count(const W& warp, std::uint32_t n) {
        for (unsigned c = warp.lane(); c < 6 * n; c += W::width) {
            const Candidate candidate = candidate_of(c, n);
            const Ends* ends = ends_[static_cast<unsigned>(candidate.side)][candidate.axis];
            const float position = candidate.position;
            std::uint32_t begun = 0;
            std::uint32_t ended = 0;
            HEAPWOOD_UNROLL(4)
            for (unsigned j = 0; j < n; ++j) {
                begun += ends[j].lo < position;
                ended += ends[j].hi <= position;
            }
            counts_[c] = begun | (n - ended) << 16;
        }
    }

    /// Collective, after count (each lane reads what it wrote): the best split of a cell that
    /// holds these n references.
    ///
    /// All candidates within the closed cell count: a plane on the cell's face cuts off a flat
    /// cell with the references in that face. A plane that would give one child everything, cell
    /// and references, is none.
    template <class W>
    HEAPWOOD_FN Choice best(const W& warp, const Box& cell, std::uint32_t n,
                            const CostModel& model) const {
        const CellMeasure measure(cell, model);
        BestSplit best;
        for (unsigned c = warp.lane(); c < 6 * n; c += W::width) {
            const Candidate candidate = candidate_of(c, n);
            const unsigned axis = candidate.axis;
            const float position = candidate.position;
            const float lo = component(cell.lo, axis);
            const float hi = component(cell.hi, axis);
            if (!(lo < hi) || position < lo || position > hi) continue;
            const std::uint32_t left = counts_[c] & 0xffffU;
            const std::uint32_t right = counts_[c] >> 16;
            if ((left == 0 && position == lo) || (right == 0 && position == hi)) continue;
            best.offer(measure.cost(axis, position, left, right), axis, candidate.side, position,
                       left, right);
        }
        return choose(warp, best);
    }

private:
    struct Ends {
        float lo;
        float hi;
    };
    struct Candidate {
        unsigned axis;
        Side side;
        float position;
    };

    HEAPWOOD_INLINE void set(unsigned axis, unsigned i, float lo, float hi) {
        const bool flat = lo == hi;
        ends_[static_cast<unsigned>(Side::right)][axis][i] = {lo, flat ? next_up(hi) : hi};
        ends_[static_cast<unsigned>(Side::left)][axis][i] = {flat ? next_down(lo) : lo, hi};
    }

    HEAPWOOD_INLINE Candidate candidate_of(unsigned c, unsigned n) const {
        const unsigned axis = (c >= 2 * n ? 1U : 0U) + (c >= 4 * n ? 1U : 0U);
        const unsigned within = c - axis * 2 * n;
        if (within < n) {
            return {axis, Side::right, ends_[static_cast<unsigned>(Side::right)][axis][within].lo};
        }
        return {axis, Side::left, ends_[static_cast<unsigned>(Side::left)][axis][within - n].hi};
    }

    /// By side and axis. One more than needed, so that the axes start in different banks of
    /// shared memory.
    Ends ends_[2][3][kExactMax + 1];
    std::uint32_t counts_[6 * kExactMax];  ///< left, and from bit 16 right
};

}  // namespace heapwood::kdtree
