/// @file
/// The split search of split_exact.cuh for a warp of width 1: the same candidates, the same counts
/// and the same choice, laid out for a compiler to use vector instructions.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "kdtree/split/split_exact.cuh"

namespace heapwood::kdtree {

/// What ExactSearch is for a warp of many lanes, with the same members.
///
/// All loops run over arrays of their own for lower and upper ends, without branches. Still every
/// candidate is compared with every reference: for so few references, of which four to sixteen are
/// compared at a time, that is not slower than to sort them.
class SerialExactSearch {
public:
    /// Enters reference i of n.
    void set(unsigned i, const glm::vec3& lo, const glm::vec3& hi) {
        HEAPWOOD_UNROLL_ALL
        for (unsigned axis = 0; axis < 3; ++axis) {
            const int k = static_cast<int>(axis);
            ends_[kRight][axis].lo[i] = lo[k];
            ends_[kLeft][axis].hi[i] = hi[k];
        }
    }

    /// Counts for all candidates, after all n references have been set.
    template <class W>
    void count(const W&, std::uint32_t n) {
        static_assert(W::width == 1);
        for (unsigned axis = 0; axis < 3; ++axis) {
            Ends& right = ends_[kRight][axis];
            Ends& left = ends_[kLeft][axis];
            for (unsigned i = 0; i < kPadding; ++i) right.lo[n + i] = left.hi[n + i] = kOutside;
            for (unsigned i = 0; i < platform::round_up(n, kPadding); ++i) {
                const float lo = right.lo[i];
                const float hi = left.hi[i];
                right.hi[i] = lo == hi ? next_up(hi) : hi;
                left.lo[i] = lo == hi ? next_down(lo) : lo;
            }
            for (unsigned i = 0; i < kPadding; ++i) right.hi[n + i] = left.lo[n + i] = kOutside;
            count(right.lo, right, n, counts_[kRight][axis]);
            count(left.hi, left, n, counts_[kLeft][axis]);
        }
    }

    /// After count: the best split of a cell that holds these n references.
    template <class W>
    Choice best(const W& warp, const Box& cell, std::uint32_t n, const CostModel& model) const {
        const CellMeasure measure(cell, model);
        std::int32_t costs[2][3][kExactMax];
        std::int32_t lowest = kNone;
        unsigned best_side = 0;
        unsigned best_axis = 0;
        for (unsigned axis = 0; axis < 3; ++axis) {
            const float lo = component(cell.lo, axis);
            const float hi = component(cell.hi, axis);
            if (!(lo < hi)) continue;
            const CellMeasure::Axis along = measure.along(axis);
            for (const unsigned side : {kRight, kLeft}) {
                const std::int32_t lowest_here =
                    find_costs(along, lo, hi, positions(side, axis), counts_[side][axis], n,
                               costs[side][axis]);
                if (lowest_here >= lowest) continue;
                lowest = lowest_here;
                best_side = side;
                best_axis = axis;
            }
        }
        BestSplit best;
        if (lowest != kNone) {
            const std::uint32_t* counts = counts_[best_side][best_axis];
            for (unsigned i = 0; i < n; ++i) {
                if (costs[best_side][best_axis][i] != lowest) continue;
                best.offer(std::bit_cast<float>(lowest), best_axis, static_cast<Side>(best_side),
                           positions(best_side, best_axis)[i], counts[i] & 0xffffU,
                           counts[i] >> 16);
            }
        }
        return choose(warp, best);
    }

private:
    static constexpr unsigned kRight = static_cast<unsigned>(Side::right);
    static constexpr unsigned kLeft = static_cast<unsigned>(Side::left);
    /// Candidates are filled up to a multiple of this with some that no cell contains, so that
    /// loops over them end with a whole vector.
    static constexpr std::uint32_t kPadding = 4;
    static constexpr float kOutside = std::numeric_limits<float>::infinity();
    static constexpr unsigned kSize = kExactMax + kPadding;

    struct Ends {
        float lo[kSize];
        float hi[kSize];
    };

    static void count(const float* positions, const Ends& ends, std::uint32_t n,
                      std::uint32_t* counts) {
        for (unsigned c = 0; c < platform::round_up(n, kPadding); ++c) {
            const float position = positions[c];
            std::uint32_t begun = 0;
            std::uint32_t ended = 0;
            for (unsigned j = 0; j < platform::round_up(n, kPadding); ++j) {
                begun += ends.lo[j] < position;
                ended += ends.hi[j] <= position;
            }
            counts[c] = begun | (n - ended) << 16;
        }
    }

    const float* positions(unsigned side, unsigned axis) const {
        return side == kRight ? ends_[side][axis].lo : ends_[side][axis].hi;
    }

    /// The costs, as bits, of the candidates of one axis and side, kNone for those that are none.
    /// @return the lowest.
    static std::int32_t find_costs(const CellMeasure::Axis& measure, float lo, float hi,
                                   const float* positions, const std::uint32_t* counts,
                                   std::uint32_t n, std::int32_t* costs) {
        std::int32_t lowest = kNone;
        for (unsigned i = 0; i < platform::round_up(n, kPadding); ++i) {
            const float position = positions[i];
            const auto left = static_cast<std::int32_t>(counts[i] & 0xffffU);
            const auto right = static_cast<std::int32_t>(counts[i] >> 16);
            const bool none = (position < lo) | (position > hi) | ((left == 0) & (position == lo)) |
                              ((right == 0) & (position == hi));
            const auto bits = std::bit_cast<std::int32_t>(measure.cost(position, left, right));
            // Without the sign, which only what is no number may have.
            costs[i] = (bits | -std::int32_t{none}) & kNone;
            lowest = costs[i] < lowest ? costs[i] : lowest;
        }
        return lowest;
    }

    /// More than the bits of any cost.
    static constexpr std::int32_t kNone = 0x7fffffff;

    Ends ends_[2][3];                    ///< as those of ExactSearch, by side and axis
    std::uint32_t counts_[2][3][kSize];  ///< likewise
};

}  // namespace heapwood::kdtree
