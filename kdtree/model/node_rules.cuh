/// @file
/// What decides the tree, beside the search for splits: the rules that hold for a node whoever
/// divides it.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "kdtree/model/clip.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/split/split_binned.cuh"

namespace heapwood::kdtree {

/// A configuration (config.h says what its fields mean) made ready for a scene.
struct TreeRules {
    CostModel model;
    BinGrid grid;
    std::uint32_t leaf_limit;
    float leaf_measure;  ///< references times half area (CostModel::scale) that a leaf may have
    std::uint32_t exact_limit;
    std::uint32_t snap_limit;
    std::uint32_t max_depth;
    float bad_ratio;       ///< a split's cost over a leaf's from which on it is bad
    float hopeless_ratio;  ///< above which it is none in a node of few references
    std::uint32_t bad_limit;
    bool tight_cuts;
    bool clip;

    /// Whether a node is a leaf whatever planes there are: it is as deep as may be, or of few
    /// references and, as rays will seldom meet it, small.
    HEAPWOOD_INLINE bool must_be_leaf(std::uint32_t count, std::uint32_t depth,
                                      const Box& cell) const {
        if (depth >= max_depth) return true;
        return count <= leaf_limit &&
               static_cast<float>(count) * half_area(cell, model.scale) <= leaf_measure;
    }

    /// Takes the choice as the split of a node (with `split`, `count` and `bad_splits`) unless it
    /// costs too much: then the node is a leaf, and the answer false.
    template <class N>
    HEAPWOOD_INLINE bool accept(N& node, const Choice& choice) const {
        node.split = choice.split;
        const float leaf = model.intersection * static_cast<float>(node.count);
        if (choice.cost < leaf * bad_ratio) return true;
        // pbrt's rule speaks of nodes of fewer than 16.
        const float most = node.count < 16 ? leaf * hopeless_ratio : choice.cost;
        if (node.bad_splits < bad_limit && choice.cost <= most) {
            ++node.bad_splits;
            return true;
        }
        node.split.axis = Split::kMakeLeaf;
        return false;
    }
};

/// Collective: moves the plane of a choice to the nearest upper end of a reference below it, or
/// the nearest lower end above it, if that costs less: a reference that ends just beyond a plane is
/// cut by it, but not by one through its end. For a cell with `count` references, at most 65535.
template <class W>
HEAPWOOD_FN void snap(const W& warp, const CostModel& model, const Box& cell,
                      const Reference* references, std::uint32_t count, Choice& choice) {
    const unsigned axis = choice.split.axis;
    const float position = choice.split.position;
    const float cell_lo = component(cell.lo, axis);
    const float cell_hi = component(cell.hi, axis);
    std::uint32_t below = platform::float_ordered_bits(cell_lo);
    std::uint32_t above = platform::float_ordered_bits(cell_hi);
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t i = warp.lane(); i < count; i += W::width) {
        const float lo = component(references[i].lo, axis);
        const float hi = component(references[i].hi, axis);
        const std::uint32_t lo_bits = platform::float_ordered_bits(lo);
        const std::uint32_t hi_bits = platform::float_ordered_bits(hi);
        if (hi <= position && hi_bits > below) below = hi_bits;
        if (lo >= position && lo_bits < above) above = lo_bits;
    }
    const float at_end = platform::ordered_bits_float(warp.max(below));
    const float at_begin = platform::ordered_bits_float(warp.min(above));
    // On the left in the lower half of the word, on the right in the upper one.
    std::uint32_t by_end = 0;
    std::uint32_t by_begin = 0;
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t i = warp.lane(); i < count; i += W::width) {
        const float lo = component(references[i].lo, axis);
        const float hi = component(references[i].hi, axis);
        by_end += goes_left(lo, hi, at_end, Side::left) ? 1U : 0U;
        by_end += goes_right(lo, hi, at_end, Side::left) ? 1U << 16 : 0U;
        by_begin += goes_left(lo, hi, at_begin, Side::right) ? 1U : 0U;
        by_begin += goes_right(lo, hi, at_begin, Side::right) ? 1U << 16 : 0U;
    }
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

}  // namespace heapwood::kdtree
