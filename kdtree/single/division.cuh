/// @file
/// How a warp of the single kernel divides a node: the children's arrays, and where leaves go.
#pragma once

#include <cstdint>

#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/split/divide.cuh"

namespace heapwood::kdtree {

/// How a piece, or a chunk of a job's, is divided, and what becomes of it.
struct Division {
    std::uint32_t begin = 0;  ///< first of the references to divide
    std::uint32_t end = 0;
    Reference* arrays[2] = {nullptr, nullptr};  ///< the children's
    std::uint32_t used[2] = {0, 0};             ///< where to go on in them
    std::uint64_t leaf_references[2] = {0, 0};  ///< of children that are leaves at once
    std::uint32_t node = 0;                     ///< the left child; the right one follows
    std::uint32_t leaves = 0;  ///< bit i: child i is such a leaf; its array is not kept
    std::uint32_t to_do = 0;   ///< bit i: child i is still to be made
    bool whole = false;        ///< nothing is divided: child 0 is the piece itself
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
        store_wide(division.arrays[side] + i, reference);
        if ((division.leaves >> side & 1U) != 0) {
            output.write_reference(division.leaf_references[side] + i, reference.primitive);
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

/// Collective: divides references among the children's arrays; counts those of children above the
/// exact limit in the scratch memory's bins, and writes out those of leaves.
HEAPWOOD_MAY_CALL_HOST
template <class W>
HEAPWOOD_INLINE void divide_piece(const W& warp, const Problem& problem, const Piece& piece,
                                  const Division& division, Scratch<W>& scratch,
                                  const BuildOutput<W>& output) {
    const bool bin[2] = {piece.split.left > problem.exact_limit,
                         piece.split.right > problem.exact_limit};
    divide(warp, problem.triangles, problem.clip,
           {piece.references, division.begin, division.end, piece.split}, division.used, bin,
           scratch.bins, scratch.frames, ChildPlaces<W>{division, output});
}

}  // namespace heapwood::kdtree
