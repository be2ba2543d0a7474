/// @file
/// How a warp of the single kernel divides a node: the children's arrays, and where leaves go.
#pragma once

#include <cstdint>

#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/split/decide.cuh"
#include "kdtree/split/divide.cuh"

namespace heapwood::kdtree {

/// How one warp divides a piece, and what becomes of it.
struct Division {
    std::uint32_t end = 0;                      ///< references to divide: all, or none
    Reference* arrays[2] = {nullptr, nullptr};  ///< the children's
    std::uint64_t leaf_references[2] = {0, 0};  ///< of children that are leaves at once
    std::uint32_t node = 0;                     ///< the left child; the right one follows
    std::uint32_t leaves = 0;  ///< bit i: child i is such a leaf; its array is not kept
    std::uint32_t to_do = 0;   ///< bit i: child i is still to be made
};

/// Collective: results[i] = f(i) for i = 0 and 1, in every lane. On a GPU two lanes call f at the
/// same time, so that two slow operations take the time of one.
template <class W, class F>
HEAPWOOD_INLINE void by_two_lanes(const W& warp, std::uint64_t (&results)[2], F f) {
    if constexpr (W::width == 1) {
        results[0] = f(0);
        results[1] = f(1);
    } else {
        const std::uint64_t mine = warp.lane() < 2 ? f(warp.lane()) : 0;
        results[0] = warp.shuffle(mine, 0);
        results[1] = warp.shuffle(mine, 1);
    }
}

/// The places of a division's references: the children's arrays, and for leaves the tree, too.
template <class W>
struct ChildPlaces {
    const Division& division;
    const BuildOutput<W>& output;

    HEAPWOOD_INLINE void put(unsigned side, std::uint32_t i, const Reference& reference) const {
        store_wide((side == 0 ? division.arrays[0] : division.arrays[1]) + i, reference);
        if ((division.leaves >> side & 1U) != 0) {
            output.write_reference(
                (side == 0 ? division.leaf_references[0] : division.leaf_references[1]) + i,
                reference.primitive);
        }
    }
    Reference* from(unsigned side, std::uint32_t i) const { return division.arrays[side] + i; }
    void done(unsigned side, std::uint32_t first, const Reference* references,
              std::uint32_t n) const {
        if ((division.leaves >> side & 1U) == 0) return;
        for (std::uint32_t i = 0; i < n; ++i) {
            output.write_reference(division.leaf_references[side] + first + i,
                                   references[i].primitive);
        }
    }
};

/// A child of a piece.
HEAPWOOD_INLINE Piece child_of(const Piece& parent, const Split& split, unsigned side,
                               Reference* references, std::uint32_t node) {
    Piece child;
    child.references = references;
    child.count = side == 0 ? split.left : split.right;
    child.node = node + side;
    child.cell = part_of(parent.cell, split, side);
    child.depth = static_cast<std::uint16_t>(parent.depth + 1);
    child.bad_splits = parent.bad_splits;
    child.split = Split{};
    return child;
}

/// Collective: decides on a piece above the exact limit by its bins.
HEAPWOOD_MAY_CALL_HOST
template <Loops kLoops, class W>
HEAPWOOD_INLINE void decide_binned(const W& warp, const Problem& problem, Piece& piece,
                                   const Bins& bins, const BinFrame& frame,
                                   BuildOutput<W>& output) {
    const BinnedSearch<W> search(warp, bins, frame, piece.count);
    decide(
        problem, piece,
        [&] { return best_binned<kLoops>(warp, problem, search, piece.references, piece); },
        [&](const Split& split) {
            output.cut_empty(piece, split);
            return true;
        });
}

/// Collective: divides a piece's references among the children's arrays; counts those of children
/// above the exact limit in the scratch memory's bins, and writes out those of leaves.
HEAPWOOD_MAY_CALL_HOST
template <class W>
HEAPWOOD_INLINE void divide_piece(const W& warp, const Problem& problem, const Piece& piece,
                                  const Division& division, Scratch<W>& scratch,
                                  const BuildOutput<W>& output) {
    const bool bin[2] = {piece.split.left > problem.exact_limit,
                         piece.split.right > problem.exact_limit};
    divide(warp, problem.triangles, problem.clip, {piece.references, 0, division.end, piece.split},
           {0, 0}, bin, scratch.division.bins, scratch.frames, scratch.division.crossing,
           ChildPlaces<W>{division, output});
}

}  // namespace heapwood::kdtree
