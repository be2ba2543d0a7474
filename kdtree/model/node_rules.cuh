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
    /// What a node must have left of kFullRoom; 0: nothing. See max_duplication in config.h.
    std::uint32_t least_room;

    /// The root's room. A split that makes (1 + x) references of one divides the room by 1 + x. So
    /// the sum over all nodes of a level, and leaves above, of references * room never grows, and
    /// a tree whose nodes have at least 1 / N of the root's room has at most N times the root's
    /// references.
    static constexpr std::uint32_t kFullRoom = 0xffff;

    /// Whether a node is a leaf whatever planes there are: it is as deep as may be, or of few
    /// references and, as rays will seldom meet it, small.
    HEAPWOOD_INLINE bool must_be_leaf(std::uint32_t count, std::uint32_t depth,
                                      const Box& cell) const {
        if (depth >= max_depth) return true;
        return count <= leaf_limit &&
               static_cast<float>(count) * half_area(cell, model.scale) <= leaf_measure;
    }

    /// What a node's room becomes by a split of `count` references into `parts`: rounded down, so
    /// that no sum grows.
    HEAPWOOD_INLINE static std::uint32_t room_after(std::uint32_t room, std::uint32_t count,
                                                    std::uint32_t parts) {
        return static_cast<std::uint32_t>(std::uint64_t{room} * count / parts);
    }

    /// Takes the choice as the split of a node (with `split`, `count`, `bad_splits` and `room`)
    /// unless it costs too much, or multiplies references beyond what the node has room for: then
    /// the node is a leaf, and the answer false.
    template <class N>
    HEAPWOOD_INLINE bool accept(N& node, const Choice& choice) const {
        node.split = choice.split;
        const float leaf = model.intersection * static_cast<float>(node.count);
        const bool bad = !(choice.cost < leaf * bad_ratio);
        // pbrt's rule speaks of nodes of fewer than 16.
        const float most = node.count < 16 ? leaf * hopeless_ratio : choice.cost;
        if ((bad && !(node.bad_splits < bad_limit && choice.cost <= most)) || !take_room(node)) {
            node.split.axis = Split::kMakeLeaf;
            return false;
        }
        if (bad) ++node.bad_splits;
        return true;
    }

private:
    /// Leaves a node the room that its split leaves; false if that is not enough.
    template <class N>
    HEAPWOOD_INLINE bool take_room(N& node) const {
        if (least_room == 0) return true;
        const std::uint32_t parts = node.split.left + node.split.right;
        const std::uint32_t room = room_after(node.room, node.count, parts);
        node.room = static_cast<decltype(node.room)>(room);
        return room >= least_room;
    }
};

}  // namespace heapwood::kdtree
