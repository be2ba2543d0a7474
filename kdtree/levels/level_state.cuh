/// @file
/// What a build level by level keeps in memory: the nodes of one level and what it needs for the
/// next. Every array is of exactly the size that the level before it has counted.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/split/node_rules.cuh"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// What decides the tree.
struct LevelProblem : TreeRules {
    const Triangle* triangles;
};

/// The pieces of empty space cut off a node before it is split, at most one at each of its cell's
/// faces. The planes are not stored: each lies where the finished cell ends.
class Cuts {
public:
    HEAPWOOD_INLINE std::uint32_t count() const { return packed_ & 7U; }
    /// The k-th cut's axis, and whether it took the lower end.
    HEAPWOOD_INLINE unsigned axis(unsigned k) const { return code(k) >> 1; }
    HEAPWOOD_INLINE bool lower(unsigned k) const { return (code(k) & 1U) != 0; }
    /// Adds a cut. Returns false, and adds nothing, if that face has one already.
    HEAPWOOD_INLINE bool add(unsigned axis, bool lower) {
        const unsigned face = axis << 1 | (lower ? 1U : 0U);
        HEAPWOOD_UNROLL(1)
        for (unsigned k = 0; k < count(); ++k) {
            if (code(k) == face) return false;
        }
        packed_ |= face << (3 + 3 * count());
        ++packed_;
        return true;
    }

private:
    HEAPWOOD_INLINE unsigned code(unsigned k) const { return packed_ >> (3 + 3 * k) & 7U; }

    std::uint32_t packed_ = 0;  ///< the number of cuts, then 3 bits for each
};

/// A node of the level that is not a leaf already.
struct LevelPiece {
    Box cell;
    Box tight;  ///< above the exact limit: the box that the bins divide; once a split that parts
                ///< the references is decided, the box around them
    Split split;
    std::uint32_t first;  ///< of its references, in the level's
    std::uint32_t count;
    std::uint32_t node;  ///< its place in the tree's node array
    std::uint32_t depth;
    std::uint32_t bad_splits;  ///< on the way from the root, that of this node included
    std::uint32_t bins;        ///< the number of its bins, above the exact limit
    Cuts cuts;
};

/// How much room nodes need in what comes next. Summed up over all pieces before one, it is where
/// that piece's part begins.
struct Needs {
    std::uint64_t references;       ///< of the next level
    std::uint64_t leaf_references;  ///< of the tree
    std::uint32_t pairs;            ///< of the tree's nodes
    std::uint32_t pieces;           ///< of the next level
    std::uint32_t binned;           ///< of the next level's pieces, those above the exact limit
    std::uint32_t items;            ///< of work for this level's division

    HEAPWOOD_INLINE Needs operator+(const Needs& other) const {
        return {references + other.references, leaf_references + other.leaf_references,
                pairs + other.pairs,           pieces + other.pieces,
                binned + other.binned,         items + other.items};
    }
};

/// A warp's part of a level's division: references of one piece, from `begin`.
struct LevelItem {
    std::uint32_t piece;
    std::uint32_t begin;
};

/// How many references of a piece that many warps divide have gone to either side so far.
struct LevelCounters {
    std::uint32_t used[2];
};

/// The arrays of a level. `needs` has one more element than there are pieces: the sum of all.
struct Level {
    std::uint32_t count;  ///< of the pieces
    std::uint32_t chunk;  ///< most references of an item
    LevelPiece* pieces;
    Reference* references;
    Bins* bins;
    Needs* needs;
    LevelCounters* counters;
    LevelItem* items;
};

/// The tree so far, and where its next nodes and references go.
struct LevelTree {
    Node* nodes;
    std::uint32_t* references;
    std::uint32_t next_pair;
    std::uint64_t next_reference;
};

}  // namespace heapwood::kdtree
