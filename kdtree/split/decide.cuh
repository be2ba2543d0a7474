/// @file
/// The decision on a node: whether it is a leaf, what empty space is cut off it, and how the rest
/// is split. One algorithm for the single kernel and for the level method.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kdtree/model/reference.cuh"
#include "kdtree/split/divide.cuh"
#include "kdtree/split/node_rules.cuh"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_binned_serial.h"

namespace heapwood::kdtree {

/// Collective: moves the plane of a choice to the nearest upper end of a reference below it, or
/// the nearest lower end above it, if that costs less: a reference that ends just beyond a plane is
/// cut by it, but not by one through its end. For a cell with `count` references, at most 65535,
/// and a choice that puts what lies in the plane right of it.
template <Loops kLoops = Loops::short_code, class W>
HEAPWOOD_FN void snap(const W& warp, const CostModel& model, const Box& cell,
                      const Reference* references, std::uint32_t count, Choice& choice) {
    const unsigned axis = choice.split.axis;
    const float position = choice.split.position;
    const float cell_lo = component(cell.lo, axis);
    const float cell_hi = component(cell.hi, axis);
    float below = cell_lo;
    float above = cell_hi;
    std::uint32_t beyond = 0;  // how many end beyond the plane
    for_each_extent<kLoops>(warp, references, 0, count, axis, [&](const Extent& extent) {
        if (extent.hi <= position) below = platform::ordered_max(below, extent.hi);
        if (extent.hi > position) ++beyond;
        if (extent.lo >= position) above = platform::ordered_min(above, extent.lo);
    });
    const float at_end = warp.max(below);
    const float at_begin = warp.min(above);
    beyond = warp.sum(beyond);
    // None ends between at_end and the plane, and none begins between it and at_begin. In the lower
    // half of the word are those that at_end leaves to the right alone, in the upper half those
    // that at_begin leaves to the left alone.
    std::uint32_t one_side = 0;
    for_each_extent<kLoops>(warp, references, 0, count, axis, [&](const Extent& extent) {
        if (extent.hi > position && extent.lo >= at_end) one_side += 1U;
        if (extent.lo < position && extent.hi <= at_begin) one_side += 1U << 16;
    });
    one_side = warp.sum(one_side);
    const std::uint32_t lefts[2] = {count - (one_side & 0xffffU), choice.split.left};
    const std::uint32_t rights[2] = {beyond, count - (one_side >> 16)};
    const CellMeasure measure(cell, model);
    BestSplit best;
    best.offer(choice.cost, axis, choice.split.side, position, choice.split.left,
               choice.split.right);
    HEAPWOOD_UNROLL_ALL
    for (unsigned i = 0; i < 2; ++i) {
        const float end = i == 0 ? at_end : at_begin;
        if (cell_lo < end && end < cell_hi && lefts[i] > 0 && rights[i] > 0) {
            best.offer(measure.cost(axis, end, lefts[i], rights[i]), axis,
                       i == 0 ? Side::left : Side::right, end, lefts[i], rights[i]);
        }
    }
    choice = best.choice();
}

/// A search of the bins' planes for a node above the exact limit. What does not depend on the cell
/// is found once, for the cell shrinks while empty space is cut off. Refers to the bins and their
/// frame if W is one lane wide.
template <class W>
class BinnedSearch {
public:
    /// Collective, for `count` references.
    HEAPWOOD_INLINE BinnedSearch(const W& warp, const Bins& bins, const BinFrame& frame,
                                 std::uint32_t count)
        : tight_(bins.tight()), planes_(planes_of(warp, bins, frame, count)) {}

    /// The box around the references.
    HEAPWOOD_INLINE const Box& tight() const { return tight_; }

    /// Collective: the best split of a node (with `cell`, `tight` and `count`).
    HEAPWOOD_MAY_CALL_HOST
    template <class N>
    HEAPWOOD_INLINE Choice best(const W& warp, const TreeRules& rules, const N& node) const {
        if constexpr (W::width == 1) {
            return split_binned_serially(planes_.bins, planes_.frame, rules.grid, node.cell,
                                         node.tight, node.count, rules.model);
        } else {
            return split_binned(warp, planes_, rules.grid, node.cell, node.tight, node.count,
                                rules.model);
        }
    }

private:
    struct InBins {
        const Bins& bins;
        const BinFrame& frame;
    };
    using Planes = std::conditional_t<W::width == 1, InBins, BinPlanes>;
    HEAPWOOD_INLINE static Planes planes_of(const W& warp, const Bins& bins, const BinFrame& frame,
                                            std::uint32_t count) {
        if constexpr (W::width == 1) {
            return {bins, frame};
        } else {
            return sum_bins(warp, bins, frame, count);
        }
    }

    const Box tight_;
    const Planes planes_;
};

/// Collective: the best split of a node (with `cell`, `tight` and `count`) above the exact limit.
/// Sets `tight`, the box around its references that the bins of its children divide.
HEAPWOOD_MAY_CALL_HOST
template <Loops kLoops = Loops::short_code, class W, class N>
HEAPWOOD_FN Choice best_binned(const W& warp, const TreeRules& rules, const BinnedSearch<W>& search,
                               const Reference* references, N& node) {
    node.tight = rules.tight_cuts ? search.tight() : node.cell;
    Choice choice = search.best(warp, rules, node);
    if (choice.split.parts() && node.count <= rules.snap_limit) {
        snap<kLoops>(warp, rules.model, node.cell, references, node.count, choice);
    }
    return choice;
}

/// Collective: makes a search of all planes (ExactSearch or SerialExactSearch) ready for a node.
HEAPWOOD_MAY_CALL_HOST
template <class W, class Search>
HEAPWOOD_INLINE void count_planes(const W& warp, Search& search, const Reference* references,
                                  std::uint32_t count) {
    if constexpr (W::width == 1) {
        search.count(references, count);
    } else {
        search.enter(warp, references, count);
    }
}

/// Decides on a node (with `cell`, `count`, `depth`, `bad_splits` and `split`): afterwards its
/// split divides its references or says that it is a leaf. `best()` is the best split of what is
/// left of the node; `cut_empty(split)` makes the node the side of the split that is not empty, or
/// returns false: then that split is the node's, and one of its children is empty.
template <class N, class Best, class CutEmpty>
HEAPWOOD_INLINE void decide(const TreeRules& rules, N& node, Best best, CutEmpty cut_empty) {
    bool asked = node.split.axis == Split::kNotLeaf;  // whether it must be a leaf
    while (asked || !rules.must_be_leaf(node.count, node.depth, node.cell)) {
        asked = false;
        const Choice choice = best();
        if (!rules.accept(node, choice) || node.split.parts() || !cut_empty(node.split)) return;
    }
    node.split.axis = Split::kMakeLeaf;
}

}  // namespace heapwood::kdtree
