/// @file
/// Loops without branches over arrays of candidates, for which a compiler uses vector instructions.
#include "kdtree/split/split_exact_serial.h"

#include <bit>

#include "kdtree/split/cost_bits.h"

namespace heapwood::kdtree {
namespace {

/// More than the ordered bits of any number.
constexpr std::uint32_t kNowhere = 0xffffffffU;

/// The ends of n references along an axis, filled up to a whole vector. A reference that is flat
/// is on one side of a plane through it: see ExactSearch.
struct Ends {
    float lo[kExactMax];
    float hi[kExactMax];
    float lo_below[kExactMax];  ///< a float lower where the reference is flat
    float hi_above[kExactMax];
};

/// How many of n references are left and right of their lower ends, and of their upper ends.
struct Counts {
    std::int32_t left_of_lo[kExactMax];
    std::int32_t right_of_lo[kExactMax];
    std::int32_t left_of_hi[kExactMax];
    std::int32_t right_of_hi[kExactMax];
};

/// Counts for the first m ends.
inline void count_sides(const Ends& ends, const float* lo_below, const float* hi_above,
                        std::uint32_t n, std::uint32_t m, Counts& counts) {
    for (std::uint32_t c = 0; c < m; ++c) {
        const float lo = ends.lo[c];
        const float hi = ends.hi[c];
        std::int32_t begun_at_lo = 0;
        std::int32_t ended_at_lo = 0;
        std::int32_t begun_at_hi = 0;
        std::int32_t ended_at_hi = 0;
        std::uint32_t j = 0;
        do {  // no branch before the loop: then several ends go through it at a time
            begun_at_lo += ends.lo[j] < lo;
            ended_at_lo += hi_above[j] <= lo;
            begun_at_hi += lo_below[j] < hi;
            ended_at_hi += ends.hi[j] <= hi;
        } while (++j < n);
        counts.left_of_lo[c] = begun_at_lo;
        counts.right_of_lo[c] = static_cast<std::int32_t>(n) - ended_at_lo;
        counts.left_of_hi[c] = begun_at_hi;
        counts.right_of_hi[c] = static_cast<std::int32_t>(n) - ended_at_hi;
    }
}

}  // namespace

void SerialExactSearch::count(const Reference* references, std::uint32_t n, CpuVersion version) {
    run_version(version, [=, this] {
        const std::uint32_t m = platform::round_up(n, kPadding);
        for (int axis = 0; axis < 3; ++axis) {
            // An object of its own, for a compiler cannot know which parts of one are apart.
            Ends ends;
            for (std::uint32_t i = 0; i < n; ++i) {
                ends.lo[i] = references[i].lo[axis];
                ends.hi[i] = references[i].hi[axis];
            }
            for (std::uint32_t i = n; i < m; ++i) {
                ends.lo[i] = kOutside;
                ends.hi[i] = -kOutside;
            }
            std::int32_t flat = 0;
            for (std::uint32_t i = 0; i < m; ++i) {
                const bool is_flat = ends.lo[i] == ends.hi[i];
                ends.lo_below[i] = is_flat ? next_down(ends.lo[i]) : ends.lo[i];
                ends.hi_above[i] = is_flat ? next_up(ends.hi[i]) : ends.hi[i];
                flat |= is_flat ? 1 : 0;
            }
            Counts counts;
            if (flat != 0) {
                count_sides(ends, ends.lo_below, ends.hi_above, n, m, counts);
            } else {  // the same in fewer loads
                count_sides(ends, ends.lo, ends.hi, n, m, counts);
            }
            Candidates& candidates = candidates_[axis];
            for (std::uint32_t i = 0; i < m; ++i) {
                candidates.position[i] = ends.lo[i];
                candidates.position[m + i] = ends.hi[i];
                candidates.left[i] = counts.left_of_lo[i];
                candidates.left[m + i] = counts.left_of_hi[i];
                candidates.right[i] = counts.right_of_lo[i];
                candidates.right[m + i] = counts.right_of_hi[i];
            }
        }
    });
}

Choice SerialExactSearch::best(const Box& cell, std::uint32_t n, const CostModel& model,
                               CpuVersion version) const {
    return run_version(version, [&] {
        const std::uint32_t m = platform::round_up(n, kPadding);
        const CellMeasure measure(cell, model);
        std::int32_t costs[3][2 * kExactMax];
        std::int32_t lowest = kNoCost;
        unsigned axis = 0;
        for (unsigned k = 0; k < 3; ++k) {
            const float lo = component(cell.lo, k);
            const float hi = component(cell.hi, k);
            if (!(lo < hi)) continue;
            const CellMeasure::Axis along = measure.along(k);
            const Candidates& candidates = candidates_[k];
            std::int32_t here = kNoCost;
            for (std::uint32_t c = 0; c < 2 * m; ++c) {
                const float position = candidates.position[c];
                const std::int32_t left = candidates.left[c];
                const std::int32_t right = candidates.right[c];
                const bool none = (position < lo) | (position > hi) |
                                  ((left == 0) & (position == lo)) |
                                  ((right == 0) & (position == hi));
                const std::int32_t cost = cost_bits(along.cost(position, left, right), !none);
                costs[k][c] = cost;
                here = cost < here ? cost : here;
            }
            axis = here < lowest ? k : axis;
            lowest = here < lowest ? here : lowest;
        }
        if (lowest == kNoCost) return BestSplit{}.choice();

        // Of equal candidates those of Side::right, and of these the lowest.
        const Candidates& candidates = candidates_[axis];
        std::uint32_t places[2] = {kNowhere, kNowhere};
        for (std::uint32_t c = 0; c < m; ++c) {
            // Ones where it does not cost as little. The analyzer does not see that of 2 m costs,
            // all written above, m are the first half.
            // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
            const std::uint32_t not_lo = costs[axis][c] == lowest ? 0 : kNowhere;
            const std::uint32_t not_hi = costs[axis][m + c] == lowest ? 0 : kNowhere;
            const std::uint32_t at_lo =
                platform::float_ordered_bits(candidates.position[c]) | not_lo;
            const std::uint32_t at_hi =
                platform::float_ordered_bits(candidates.position[m + c]) | not_hi;
            places[0] = at_lo < places[0] ? at_lo : places[0];
            places[1] = at_hi < places[1] ? at_hi : places[1];
        }
        const Side side = places[0] != kNowhere ? Side::right : Side::left;
        const float position =
            platform::ordered_bits_float(side == Side::right ? places[0] : places[1]);
        const std::uint32_t first = side == Side::right ? 0 : m;
        std::int32_t left = 0;
        std::int32_t right = 0;
        for (std::uint32_t c = first; c < first + m; ++c) {
            const std::int32_t chosen = candidates.position[c] == position ? -1 : 0;
            const std::int32_t l = candidates.left[c] & chosen;
            const std::int32_t r = candidates.right[c] & chosen;
            left = left < l ? l : left;
            right = right < r ? r : right;
        }
        return Choice{.split = {.position = position,
                                .axis = axis,
                                .side = side,
                                .left = static_cast<std::uint32_t>(left),
                                .right = static_cast<std::uint32_t>(right)},
                      .cost = std::bit_cast<float>(lowest)};
    });
}

}  // namespace heapwood::kdtree
