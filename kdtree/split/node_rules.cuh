/// @file
/// What decides the tree, beside the search for splits: the rules that hold for a node, whichever
/// warp divides it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "allocators/platform/bits.cuh"
#include "kdtree/config.h"
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

/// A power of two that brings the largest coordinate below 2, so that areas neither overflow nor
/// vanish; multiplying by it is exact.
inline float area_scale(const Box& bounds) {
    float largest = 0;
    for (const glm::vec3& v : {bounds.lo, bounds.hi}) {
        largest = std::max({largest, std::abs(v.x), std::abs(v.y), std::abs(v.z)});
    }
    if (largest == 0) return 1;
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0F, std::clamp(1 - exponent, -126, 127));
}

/// The rules for a scene of N triangles within `bounds`, normalised.
inline TreeRules tree_rules(const BuildConfig& config, const Box& bounds, std::uint64_t triangles) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::uint32_t depth = max_depth(config, triangles);
    const CostModel model = cost_model(config, area_scale(bounds));
    return {.model = model,
            .grid = BinGrid::of(config.planes),
            .leaf_limit = config.leaf_limit,
            .leaf_measure = config.leaf_area > 0
                                ? config.leaf_area * half_area(bounds, model.scale) /
                                      static_cast<float>(triangles)
                                : kInfinity,
            .exact_limit = config.exact_limit,
            .snap_limit = config.snap_limit,
            .max_depth = depth,
            .bad_ratio = config.bad_split_ratio,
            .hopeless_ratio = config.hopeless_ratio > 0 ? config.hopeless_ratio : kInfinity,
            .bad_limit = max_bad_splits(config, depth),
            .tight_cuts = config.tight_cuts,
            .clip = config.clip};
}

}  // namespace heapwood::kdtree
