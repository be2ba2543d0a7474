/// @file
/// The surface area heuristic: what a split costs, which split is best, and which references go
/// where.
///
/// All of it is float arithmetic in a fixed order, without contraction, and all ties are broken by
/// (cost, axis, side, position): the same split comes out on every machine and schedule.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"
#include "kdtree/model/box.cuh"

namespace heapwood::kdtree {

/// The constants of the cost function (config.h says what they mean), and a power of two by which
/// extents are multiplied before areas are formed, so that no scene's areas overflow or vanish.
struct CostModel {
    float traversal;
    float intersection;
    float empty_traversal;     ///< the same two for a split that leaves one child empty,
    float empty_intersection;  ///< bonus included
    bool empty_must_pay;       ///< such a split must be worth its cost without the bonus, too
    float scale;
};

/// @param scale as CostModel has it
inline CostModel cost_model(const BuildConfig& config, float scale) {
    const bool weighs_traversal = config.empty_rule != EmptyRule::tests;
    return {.traversal = config.traversal_cost,
            .intersection = config.intersection_cost,
            .empty_traversal = config.traversal_cost * (weighs_traversal ? config.empty_bonus : 1),
            .empty_intersection = config.intersection_cost * config.empty_bonus,
            .empty_must_pay = config.empty_rule == EmptyRule::pays,
            .scale = scale};
}

/// Where references that lie in the split plane go.
enum class Side : std::uint32_t { right = 0, left = 1 };

/// A split plane, with how many references go to each side; or the decision against one.
struct Split {
    float position = 0;
    std::uint32_t axis = kUndecided;
    Side side = Side::right;
    std::uint32_t left = 0;
    std::uint32_t right = 0;

    /// Whether both sides have references: else it only cuts off empty space.
    HEAPWOOD_INLINE bool parts() const { return left > 0 && right > 0; }

    static constexpr std::uint32_t kMakeLeaf = 3;   ///< value of axis: no split pays
    static constexpr std::uint32_t kUndecided = 4;  ///< value of axis: not looked at yet
    static constexpr std::uint32_t kNotLeaf = 5;    ///< the same, but it need not be a leaf
};

/// The cheapest split of a node, and its cost, which is NaN if there is no split.
struct Choice {
    Split split;
    float cost;
};

/// Whether a reference that spans [lo, hi] along the split's axis goes left.
HEAPWOOD_INLINE bool goes_left(float lo, float hi, float position, Side side) {
    return lo < position || (side == Side::left && hi <= position);
}

/// Whether it goes right. Every reference goes somewhere; only one that has an extent on both
/// sides goes both ways.
HEAPWOOD_INLINE bool goes_right(float lo, float hi, float position, Side side) {
    return hi > position || (side == Side::right && lo >= position);
}

/// The two halves of a cell.
HEAPWOOD_INLINE Box lower_cell(Box cell, unsigned axis, float position) {
    set_component(cell.hi, axis, position);
    return cell;
}
HEAPWOOD_INLINE Box upper_cell(Box cell, unsigned axis, float position) {
    set_component(cell.lo, axis, position);
    return cell;
}

/// What a split leaves of a cell on the left (side 0) or right (side 1).
HEAPWOOD_INLINE Box part_of(const Box& cell, const Split& split, unsigned side) {
    return side == 0 ? lower_cell(cell, split.axis, split.position)
                     : upper_cell(cell, split.axis, split.position);
}

/// Half the surface area of a cell, of extents multiplied by the scale.
HEAPWOOD_INLINE float half_area(const Box& cell, float scale) {
    const float x = cell.hi.x * scale - cell.lo.x * scale;
    const float y = cell.hi.y * scale - cell.lo.y * scale;
    const float z = cell.hi.z * scale - cell.lo.z * scale;
    return y * z + x * (y + z);
}

/// The areas of slabs of one cell. Half the area of a slab of width w across an axis is
/// `base + w * rim`. Where the cell's area is 0 (all of it on a line) lengths replace areas.
class CellMeasure {
public:
    HEAPWOOD_FN CellMeasure(const Box& cell, const CostModel& model) : cell_(cell), model_(model) {
        const float x = extent(cell.lo.x, cell.hi.x);
        const float y = extent(cell.lo.y, cell.hi.y);
        const float z = extent(cell.lo.z, cell.hi.z);
        base_ = {y * z, x * z, x * y};
        rim_ = {y + z, x + z, x + y};
        float total = base_.x + x * rim_.x;
        if (total == 0) {
            base_ = rim_;
            rim_ = {1, 1, 1};
            total = base_.x + x;
        }
        inverse_ = 1 / total;
    }

    /// Expected cost of splitting the cell, bonus included; NaN, which is dearer than all, if the
    /// split only cuts off empty space and does not pay.
    template <class Count>
    HEAPWOOD_INLINE float cost(unsigned axis, float position, Count left, Count right) const {
        return along(axis).cost(position, left, right);
    }

    /// The costs of splits across one axis, for loops over many of them.
    struct Axis {
        float lo;  ///< the cell's ends, scaled
        float hi;
        float base;
        float rim;
        float inverse;
        CostModel model;

        /// Signed counts suit a CPU, whose vector instructions make floats of no others.
        template <class Count>
        HEAPWOOD_INLINE float cost(float position, Count left, Count right) const {
            const float at = position * model.scale;
            const float below = base + (at - lo) * rim;
            const float above = base + (hi - at) * rim;
            const float weighted =
                below * static_cast<float>(left) + above * static_cast<float>(right);
            const float tests = weighted * inverse;
            const float full = model.traversal + model.intersection * tests;
            const bool cuts = (left == 0) | (right == 0);
            const float leaf = model.intersection * static_cast<float>(left + right);
            const bool pays = !model.empty_must_pay | (full < leaf);
            const float cut = model.empty_traversal + model.empty_intersection * tests;
            return !cuts ? full : pays ? cut : platform::bits_float(0x7fc00000U);
        }
    };
    HEAPWOOD_INLINE Axis along(unsigned axis) const {
        return {component(cell_.lo, axis) * model_.scale,
                component(cell_.hi, axis) * model_.scale,
                component(base_, axis),
                component(rim_, axis),
                inverse_,
                model_};
    }

private:
    /// Both ends are scaled before the subtraction, which could overflow otherwise.
    HEAPWOOD_INLINE float extent(float lo, float hi) const {
        return hi * model_.scale - lo * model_.scale;
    }

    const Box& cell_;
    const CostModel& model_;
    glm::vec3 base_;
    glm::vec3 rim_;
    float inverse_;
};

/// The cheapest split a lane has seen; `choose` makes it the warp's.
struct BestSplit {
    /// Costs are not negative: bits order like values, and those of a NaN come last.
    std::uint32_t cost_bits = 0xffffffffU;
    std::uint32_t kind = 0xffffffffU;   ///< axis, then side
    std::uint32_t place = 0xffffffffU;  ///< position, as an integer of the same order
    std::uint32_t left = 0;
    std::uint32_t right = 0;

    HEAPWOOD_INLINE void offer(float cost, unsigned axis, Side side, float position,
                               std::uint32_t n_left, std::uint32_t n_right) {
        const std::uint32_t bits = platform::float_bits(cost);
        const std::uint32_t new_kind = axis << 1 | static_cast<std::uint32_t>(side);
        const std::uint32_t new_place = platform::float_ordered_bits(position);
        const bool better =
            bits < cost_bits ||
            (bits == cost_bits && (new_kind < kind || (new_kind == kind && new_place < place)));
        if (better) {
            cost_bits = bits;
            kind = new_kind;
            place = new_place;
            left = n_left;
            right = n_right;
        }
    }

    HEAPWOOD_INLINE Choice choice() const {
        return {.split = {.position = platform::ordered_bits_float(place),
                          .axis = kind >> 1,
                          .side = static_cast<Side>(kind & 1U),
                          .left = left,
                          .right = right},
                .cost = platform::bits_float(cost_bits)};
    }
};

/// Collective: the cheapest split over all lanes.
template <class W>
HEAPWOOD_INLINE Choice choose(const W& warp, const BestSplit& mine) {
    const std::uint32_t cost = warp.min(mine.cost_bits);
    bool wins = mine.cost_bits == cost;
    // The lowest lane of those with this cost: mostly there is no better one.
    std::uint32_t winner = platform::lowest_bit(warp.ballot(wins));
    std::uint32_t kind = warp.shuffle(mine.kind, winner);
    std::uint32_t place = warp.shuffle(mine.place, winner);
    if (warp.any(wins && (mine.kind < kind || (mine.kind == kind && mine.place < place)))) {
        kind = warp.min(wins ? mine.kind : 0xffffffffU);
        wins = wins && mine.kind == kind;
        place = warp.min(wins ? mine.place : 0xffffffffU);
        // Several lanes may hold the same plane; they hold the same counts, so any will do.
        winner = platform::lowest_bit(warp.ballot(wins && mine.place == place));
    }
    return BestSplit{.cost_bits = cost,
                     .kind = kind,
                     .place = place,
                     .left = warp.shuffle(mine.left, winner),
                     .right = warp.shuffle(mine.right, winner)}
        .choice();
}

}  // namespace heapwood::kdtree
