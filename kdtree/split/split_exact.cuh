/// @file
/// Split search over all planes at which a reference begins or ends, for nodes of few references.
///
/// Every lane takes a candidate plane and counts, over all references, how many begin below and how
/// many end at or below: O(n^2) comparisons, but without sorting, branches or atomics, and
/// independent of the references' order.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "kdtree/model/reference.cuh"
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

/// The ends of a node's references along each axis, and the planes through them.
///
/// A reference gives two candidates an axis: its lower end (what lies in the plane goes right), and
/// its upper end (what lies in the plane goes left). A reference that is flat across the axis is on
/// one side only, whichever the candidate says; to that end its other end is moved by one float, so
/// that two comparisons tell for any reference whether it is left and right.
///
/// Few candidates are worth a look. Triangles that meet in a vertex have the same ends, and many
/// ends are where the cell cut them off. In nodes of 12 references of a scan 17 of 72 are left, and
/// the lanes count for all of them at once.
class ExactSearch {
public:
    /// Collective: takes in n references, which may then be searched any number of times. Syncs.
    template <class W>
    HEAPWOOD_FN void enter(const W& warp, const Reference* references, std::uint32_t n) {
        const Side side = side_of(warp);
        std::uint32_t flat_axes = 0;
        HEAPWOOD_UNROLL(1)
        for (unsigned i = reference_of(warp); i < platform::round_up(n, kBlock); i += kBlock) {
            // What fills up is left of no plane and right of none.
            Reference r{.lo = {kOutside, kOutside, kOutside},
                        .primitive = 0,
                        .hi = {-kOutside, -kOutside, -kOutside},
                        .pad = 0};
            if (i < n) r = load_wide(references + i);
            flat_axes |= set_ends(warp, side, 0, i, r.lo.x, r.hi.x) ? 1U : 0U;
            flat_axes |= set_ends(warp, side, 1, i, r.lo.y, r.hi.y) ? 2U : 0U;
            flat_axes |= set_ends(warp, side, 2, i, r.lo.z, r.hi.z) ? 4U : 0U;
        }
        if (warp.lane() == 0) flat_axes_ = flat_axes;
        warp.sync();
    }

    /// Collective, after `enter`: the best split of a cell that holds these n references, none of
    /// which reaches out of it.
    ///
    /// A plane on the cell's face cuts off a flat cell with the references in that face. A plane
    /// that would give one child everything, cell and references, is none.
    template <class W>
    HEAPWOOD_FN Choice best(const W& warp, const Box& cell, std::uint32_t n,
                            const CostModel& model) {
        const std::uint32_t planes = gather(warp, cell, n);
        BestSplit best;
        const CellMeasure measure(cell, model);
        const std::uint32_t m = platform::round_up(n, kAtOnce);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t first = 0; first < planes; first += W::width) {
            // Lanes without a plane of their own take the last one, so that none goes its own way.
            const std::uint32_t mine = first + warp.lane();
            const std::uint32_t c = mine < planes ? mine : planes - 1;
            const float position = positions_[c];
            const unsigned axis = kinds_[c] >> 1U;
            const unsigned side = kinds_[c] & 1U;
            const Ends* ends = ends_[side][axis];
            // Floats, for a GPU compares into a float of 1 or 0 by one instruction.
            float left = 0;
            float right = static_cast<float>(m);
            Ends these[kAtOnce];
            HEAPWOOD_UNROLL_ALL
            for (unsigned k = 0; k < kAtOnce; ++k) these[k] = ends[k];
            HEAPWOOD_UNROLL(1)
            for (unsigned j = kAtOnce; j <= m; j += kAtOnce) {
                // The next ones are on their way while these are compared.
                Ends following[kAtOnce];
                const unsigned next = j < m ? j : 0;
                HEAPWOOD_UNROLL_ALL
                for (unsigned k = 0; k < kAtOnce; ++k) following[k] = ends[next + k];
                HEAPWOOD_UNROLL_ALL
                for (unsigned k = 0; k < kAtOnce; ++k) {
                    left += these[k].lo < position ? 1.0F : 0.0F;
                    right -= these[k].hi <= position ? 1.0F : 0.0F;
                    these[k] = following[k];
                }
            }
            best.offer(measure.cost(axis, position, left, right), axis, static_cast<Side>(side),
                       position, static_cast<std::uint32_t>(left),
                       static_cast<std::uint32_t>(right));
        }
        return choose(warp, best);
    }

private:
    struct alignas(8) Ends {
        float lo;
        float hi;
    };

    /// So many references are compared with a plane at a time.
    static constexpr std::uint32_t kAtOnce = 4;
    /// So many are entered at a time: the lower half of the lanes has their lower ends, the upper
    /// half their upper ends.
    static constexpr std::uint32_t kBlock = 16;
    static_assert(kExactMax % kBlock == 0 && kBlock % kAtOnce == 0);

    template <class W>
    HEAPWOOD_INLINE static Side side_of(const W& warp) {
        static_assert(W::width == 2 * kBlock);
        return warp.lane() < kBlock ? Side::right : Side::left;
    }
    template <class W>
    HEAPWOOD_INLINE static unsigned reference_of(const W& warp) {
        return warp.lane() % kBlock;
    }

    /// Collective: sets the ends of a block's references along an axis, those of a side by the
    /// lanes of that side. Returns whether any reference is flat.
    template <class W>
    HEAPWOOD_INLINE bool set_ends(const W& warp, Side side, unsigned axis, unsigned i, float lo,
                                  float hi) {
        const bool flat = lo == hi;
        const bool any = warp.any(flat);
        if (any && flat) {
            if (side == Side::right) {
                hi = next_up(hi);
            } else {
                lo = next_down(lo);
            }
        }
        ends_[static_cast<unsigned>(side)][axis][i] = {lo, hi};
        return any;
    }

    /// Collective: collects the candidates that differ, and returns how many there are.
    ///
    /// Those of the face in which references of that side end are none: nothing is beyond. Of equal
    /// ones of a block the first stays. Without flat references across an axis both sides of a
    /// plane are equal, and the lower ends, which come first, have the kind that wins a tie.
    template <class W>
    HEAPWOOD_FN std::uint32_t gather(const W& warp, const Box& cell, std::uint32_t n) {
        const auto side = static_cast<unsigned>(side_of(warp));
        const std::uint32_t lower_lanes = (1U << warp.lane()) - 1U;
        const std::uint32_t lower_of_side = lower_lanes & (side == 0 ? ~0U : ~0U << kBlock);
        const std::uint32_t flat_axes = flat_axes_;
        std::uint32_t planes = 0;
        warp.sync();  // all lanes have read the planes of a search before
        HEAPWOOD_UNROLL(1)
        for (unsigned i = reference_of(warp); i < platform::round_up(n, kBlock); i += kBlock) {
            // All are on their way before the first one is waited for.
            float positions[3];
            std::uint32_t rivals[3];
            HEAPWOOD_UNROLL_ALL
            for (unsigned axis = 0; axis < 3; ++axis) {
                const Ends ends = ends_[side][axis][i];
                positions[axis] = side == 0 ? ends.lo : ends.hi;
            }
            HEAPWOOD_UNROLL_ALL
            for (unsigned axis = 0; axis < 3; ++axis) {
                rivals[axis] = (flat_axes >> axis & 1U) != 0 ? lower_of_side : lower_lanes;
                rivals[axis] &= warp.match(platform::float_bits(positions[axis]));
            }
            HEAPWOOD_UNROLL_ALL
            for (unsigned axis = 0; axis < 3; ++axis) {
                const bool inside =
                    i < n && positions[axis] != (side == 0 ? cell.lo[axis] : cell.hi[axis]);
                const bool stays = inside & ((rivals[axis] & warp.ballot(inside)) == 0);
                const std::uint32_t staying = warp.ballot(stays);
                if (stays) {
                    const std::uint32_t c = planes + platform::popcount(staying & lower_lanes);
                    positions_[c] = positions[axis];
                    kinds_[c] = static_cast<std::uint8_t>(axis << 1 | side);
                }
                planes += platform::popcount(staying);
            }
        }
        warp.sync();
        return planes;
    }

    /// By side and axis. Two more than needed, so that the axes start in different banks of shared
    /// memory.
    alignas(16) Ends ends_[2][3][kExactMax + 2];
    float positions_[6 * kExactMax];     ///< of the candidates
    std::uint8_t kinds_[6 * kExactMax];  ///< from bit 1 the axis, in bit 0 the side
    std::uint32_t flat_axes_;  ///< bit i: there are references that are flat across axis i
};

}  // namespace heapwood::kdtree
