/// @file
/// The decision on a node: whether it is a leaf, what empty space is cut off it, and how the rest
/// is split. One algorithm for the single kernel and for the level method.
#pragma once

#include <cstdint>

#include "kdtree/model/node_rules.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/split/divide.cuh"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_binned_serial.h"

namespace heapwood::kdtree {

/// Collective: moves the plane of a choice to the nearest upper end of a reference below it, or
/// the nearest lower end above it, if that costs less: a reference that ends just beyond a plane is
/// cut by it, but not by one through its end. For a cell with `count` references, at most 65535.
template <Loops kLoops = Loops::short_code, class W>
HEAPWOOD_FN void snap(const W& warp, const CostModel& model, const Box& cell,
                      const Reference* references, std::uint32_t count, Choice& choice) {
    const unsigned axis = choice.split.axis;
    const float position = choice.split.position;
    const float cell_lo = component(cell.lo, axis);
    const float cell_hi = component(cell.hi, axis);
    std::uint32_t below = platform::float_ordered_bits(cell_lo);
    std::uint32_t above = platform::float_ordered_bits(cell_hi);
    for_each_extent<kLoops>(warp, references, 0, count, axis, [&](const Extent& extent) {
        const std::uint32_t lo_bits = platform::float_ordered_bits(extent.lo);
        const std::uint32_t hi_bits = platform::float_ordered_bits(extent.hi);
        if (extent.hi <= position && hi_bits > below) below = hi_bits;
        if (extent.lo >= position && lo_bits < above) above = lo_bits;
    });
    const float at_end = platform::ordered_bits_float(warp.max(below));
    const float at_begin = platform::ordered_bits_float(warp.min(above));
    // On the left in the lower half of the word, on the right in the upper one.
    std::uint32_t by_end = 0;
    std::uint32_t by_begin = 0;
    for_each_extent<kLoops>(warp, references, 0, count, axis, [&](const Extent& extent) {
        const auto [lo, hi] = extent;
        by_end += goes_left(lo, hi, at_end, Side::left) ? 1U : 0U;
        by_end += goes_right(lo, hi, at_end, Side::left) ? 1U << 16 : 0U;
        by_begin += goes_left(lo, hi, at_begin, Side::right) ? 1U : 0U;
        by_begin += goes_right(lo, hi, at_begin, Side::right) ? 1U << 16 : 0U;
    });
    by_end = warp.sum(by_end);
    by_begin = warp.sum(by_begin);
    const CellMeasure measure(cell, model);
    BestSplit best;
    best.offer(choice.cost, axis, choice.split.side, position, choice.split.left,
               choice.split.right);
    HEAPWOOD_UNROLL(1)
    for (unsigned i = 0; i < 2; ++i) {
        const float end = i == 0 ? at_end : at_begin;
        const std::uint32_t left = (i == 0 ? by_end : by_begin) & 0xffffU;
        const std::uint32_t right = (i == 0 ? by_end : by_begin) >> 16;
        if (cell_lo < end && end < cell_hi && left > 0 && right > 0) {
            best.offer(measure.cost(axis, end, left, right), axis,
                       i == 0 ? Side::left : Side::right, end, left, right);
        }
    }
    choice = best.choice();
}

/// Collective: the best split of a node (with `cell`, `tight` and `count`) above the exact limit,
/// by its bins. Sets `tight`, the box around its references that the bins of its children divide.
HEAPWOOD_MAY_CALL_HOST
template <Loops kLoops = Loops::short_code, class W, class N>
HEAPWOOD_FN Choice best_binned(const W& warp, const TreeRules& rules, const Bins& bins,
                               const BinFrame& frame, const Reference* references, N& node) {
    node.tight = rules.tight_cuts ? bins.tight() : node.cell;
    Choice choice;
    if constexpr (W::width == 1) {
        choice = split_binned_serially(bins, frame, rules.grid, node.cell, node.tight, node.count,
                                       rules.model);
    } else {
        choice = split_binned(warp, bins, frame, rules.grid, node.cell, node.tight, node.count,
                              rules.model);
    }
    if (choice.split.left > 0 && choice.split.right > 0 && node.count <= rules.snap_limit) {
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
/// left of the node; `cut_empty(split)` makes the node the side of the split that is not empty.
template <class N, class Best, class CutEmpty>
HEAPWOOD_INLINE void decide(const TreeRules& rules, N& node, Best best, CutEmpty cut_empty) {
    bool asked = node.split.axis == Split::kNotLeaf;  // whether it must be a leaf
    while (asked || !rules.must_be_leaf(node.count, node.depth, node.cell)) {
        asked = false;
        const Choice choice = best();
        const bool parts = choice.split.left > 0 && choice.split.right > 0;
        if (!rules.accept(node, choice) || parts) return;
        cut_empty(node.split);
    }
    node.split.axis = Split::kMakeLeaf;
}

}  // namespace heapwood::kdtree
