/// @file
/// What decides the tree, beside the search for splits: the rules that hold for a node, whichever
/// warp divides it.
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

}  // namespace heapwood::kdtree
