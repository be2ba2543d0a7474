/// @file
/// Random nodes for the tests of split searches, and what the searches should find in them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/split/split_binned.cuh"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {

/// A node: its cell, the box that its bins divide, and the boxes of its references.
struct SplitCase {
    Box cell;
    Box frame;
    Box tight;
    std::uint32_t first;  ///< of its boxes, in the array of all cases' boxes
    std::uint32_t count;
    CostModel model;
    BinGrid grid;
};

/// A reference of which only the box matters.
inline Reference reference_of(const Box& box) {
    return {box.lo, 0, box.hi, 0};
}

struct SplitCases {
    std::vector<SplitCase> nodes;
    std::vector<Box> boxes;
};

/// A float at one of the places between lo and hi that give searches trouble: the ends, a plane of
/// the frame, a value that others have too, a float's width beside any of these; or anywhere.
inline float random_end(Dice& dice, float lo, float hi, float lo_of_frame, float step) {
    float v = 0;
    switch (dice.below(6)) {
        case 0:
            v = dice.below(2) == 0 ? lo : hi;
            break;
        case 1:
            v = BinFrame::plane(lo_of_frame, step, dice.below(kBins));
            break;
        case 2:
            v = lo + 0.125F * static_cast<float>(dice.below(9)) * (hi - lo);
            break;
        default:
            v = dice.uniform(lo, hi);
    }
    if (dice.below(4) == 0) v = std::nextafter(v, dice.below(2) == 0 ? lo : hi);
    return std::clamp(v, lo, hi) + 0.0F;
}

/// A cell of any size and place: flat or a few floats wide along some axes.
inline Box random_frame(Dice& dice, float size) {
    Box box{};
    for (unsigned k = 0; k < 3; ++k) {
        const float lo = dice.below(4) == 0 ? 0 : dice.uniform(-1, 1) * size;
        float hi = lo + dice.uniform(0, 1) * size;
        const unsigned kind = dice.below(8);
        if (kind == 0) hi = lo;
        if (kind == 1) {
            hi = lo;
            for (unsigned ulps = 1 + dice.below(40); ulps > 0; --ulps) {
                hi = std::nextafter(hi, 3 * size);
            }
        }
        set_component(box.lo, k, lo);
        set_component(box.hi, k, hi);
    }
    return box;
}

/// `cases` nodes of 1 to `most` references, whose counts have 1 and `most` among them.
inline SplitCases random_split_cases(Dice& dice, unsigned cases, unsigned most) {
    SplitCases result;
    for (unsigned i = 0; i < cases; ++i) {
        const int exponent = dice.integer(-99, 99);
        SplitCase node{};
        node.frame = random_frame(dice, std::ldexp(1.0F, exponent));
        const float traversal = dice.below(4) == 0 ? 0.0F : 1.0F;
        node.model = {.traversal = traversal,
                      .intersection = 1.5F,
                      .empty_traversal = traversal * (dice.below(2) == 0 ? 1.0F : 0.8F),
                      .empty_intersection = 1.5F * 0.8F,
                      .empty_must_pay = dice.below(2) == 0,
                      .scale = std::ldexp(1.0F, -exponent)};
        node.grid = BinGrid::of(dice.below(2) == 0 ? 93 : 3 + dice.below(91));
        node.first = static_cast<std::uint32_t>(result.boxes.size());
        node.count = i == 0 ? most : 1 + dice.below(i % 2 == 0 ? most : std::min(most, 40U));
        const BinFrame frame = BinFrame::of(node.frame, node.grid);
        // Within a part of the frame, so that there is empty space to cut off.
        Box part = node.frame;
        for (unsigned k = 0; k < 3; ++k) {
            if (dice.below(2) == 0) continue;
            const float lo = component(part.lo, k);
            const float hi = component(part.hi, k);
            const float a = std::clamp(dice.uniform(lo, hi), lo, hi);
            const float b = std::clamp(dice.uniform(lo, hi), lo, hi);
            set_component(part.lo, k, std::min(a, b));
            set_component(part.hi, k, std::max(a, b));
        }
        GrowingBox around;
        const bool often_flat = dice.below(2) == 0;
        for (std::uint32_t j = 0; j < node.count; ++j) {
            Box box{};
            for (unsigned k = 0; k < 3; ++k) {
                const auto end = [&] {
                    return random_end(dice, component(part.lo, k), component(part.hi, k),
                                      component(frame.lo, k), component(frame.step, k));
                };
                const float a = end();
                const float b = often_flat && dice.below(3) == 0 ? a : end();
                set_component(box.lo, k, std::min(a, b));
                set_component(box.hi, k, std::max(a, b));
            }
            result.boxes.push_back(box);
            around.add(box.lo, box.hi);
        }
        node.tight = {around.lo, around.hi};
        // The cell may be larger than the frame, or smaller where it is empty.
        node.cell = node.frame;
        for (unsigned k = 0; k < 3; ++k) {
            const float lo = component(node.frame.lo, k);
            const float hi = component(node.frame.hi, k);
            const unsigned kind = dice.below(4);
            if (kind == 0) {
                set_component(node.cell.lo, k, lo - (hi - lo) * 0.5F);
                set_component(node.cell.hi, k, hi + (hi - lo) * 0.5F);
            } else if (kind == 1) {
                set_component(node.cell.lo, k, component(node.tight.lo, k));
            } else if (kind == 2) {
                set_component(node.cell.hi, k, component(node.tight.hi, k));
            }
        }
        result.nodes.push_back(node);
    }
    return result;
}

/// How many references of a node go left and right of a plane: one after the other.
struct Sides {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
};
inline Sides count_sides(const SplitCase& node, const Box* boxes, unsigned axis, float position,
                         Side side) {
    Sides n;
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
        const float lo = component(boxes[i].lo, axis);
        const float hi = component(boxes[i].hi, axis);
        const bool planar = lo == position && hi == position;
        n.left += lo < position || (planar && side == Side::left);
        n.right += hi > position || (planar && side == Side::right);
    }
    return n;
}

/// Offers planes one by one and keeps the first by (cost, axis, side, position), right before left.
class NaiveSearch {
public:
    NaiveSearch(const SplitCase& node, const Box* boxes)
        : node_(node), boxes_(boxes), measure_(node.cell, node.model) {}

    void offer(unsigned axis, float position, Side side) {
        const Sides n = count_sides(node_, boxes_, axis, position, side);
        const float cost = measure_.cost(axis, position, n.left, n.right);
        if (std::isnan(cost)) return;
        const auto key = [](float c, const Split& s) {
            return std::tuple(c, s.axis, s.side == Side::left, s.position);
        };
        const Split split{position, axis, side, n.left, n.right};
        if (!best_ || key(cost, split) < key(best_->cost, best_->split)) best_ = {split, cost};
    }
    /// What was best; nothing if no plane was offered, or none that pays.
    const std::optional<Choice>& best() const { return best_; }

private:
    const SplitCase& node_;
    const Box* boxes_;
    CellMeasure measure_;
    std::optional<Choice> best_;
};

}  // namespace heapwood::kdtree::tests
