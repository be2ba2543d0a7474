/// @file
/// What holds for a node of any size, whoever divides it.
#pragma once

#include <cstdint>

#include "kdtree/build_output.cuh"
#include "kdtree/build_state.cuh"
#include "kdtree/clip.cuh"
#include "kdtree/sah.cuh"

namespace heapwood::kdtree {

/// Whether a node is a leaf without a look at its references.
HEAPWOOD_INLINE bool must_be_leaf(const Problem& problem, std::uint32_t count,
                                  std::uint32_t depth) {
    return count <= problem.leaf_limit || depth >= problem.max_depth;
}

/// Cuts a reference that the plane crosses into its parts: `below` holds the whole before.
HEAPWOOD_INLINE void cut_reference(const Problem& problem, const Split& split, Reference& below,
                                   Reference& above) {
    if (problem.clip) {
        Box low;
        Box high;
        clip(load_wide(problem.triangles + below.primitive), {below.lo, below.hi}, split.axis,
             split.position, low, high);
        below.lo = low.lo;
        below.hi = low.hi;
        above.lo = high.lo;
        above.hi = high.hi;
    } else {
        set_component(below.hi, split.axis, split.position);
        set_component(above.lo, split.axis, split.position);
    }
}

/// Collective: cuts empty space off a piece, where the split leaves one side without references.
/// Writes the inner node and its empty leaf; the piece becomes the other child, and its references
/// stay where they are.
template <class W>
HEAPWOOD_INLINE void cut_empty(const W& warp, BuildOutput<W>& output, Piece& piece,
                               const Split& split) {
    const std::uint32_t child = output.reserve_pair();
    const bool left_empty = split.left == 0;
    if (warp.lane() == 0) {
        output.write_node(piece.node, Node::inner(split.axis, split.position, child));
        output.write_node(left_empty ? child : child + 1, Node::leaf(0, 0));
    }
    piece.node = left_empty ? child + 1 : child;
    piece.cell = left_empty ? upper_cell(piece.cell, split.axis, split.position)
                            : lower_cell(piece.cell, split.axis, split.position);
    ++piece.depth;
}

}  // namespace heapwood::kdtree
