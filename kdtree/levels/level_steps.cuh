/// @file
/// The steps of a build level by level: function objects that one kernel launch, or one loop of a
/// CPU, calls for every element of an array. `operator()(i)` stands for an element of its own;
/// `operator()(warp, scratch, i)` is called by all lanes of a warp for the same element, with
/// `Scratch` memory that they share.
///
/// A level goes: Decide every piece (leaf or split; what it needs) - sum the needs up - make the
/// next level's arrays - ClearBins - Emit nodes, the next pieces and the items of work - Divide the
/// references. The root's level begins with MakeRoot, ClearBins and FillRoot.
///
/// Which split is chosen is decided by the functions that the single kernel uses, from the same
/// counts; that is why the tree is the same bit for bit.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/levels/level_input.h"
#include "kdtree/levels/level_state.cuh"
#include "kdtree/split/decide.cuh"
#include "kdtree/split/divide.cuh"

namespace heapwood::kdtree {

/// What a child of a decided piece needs.
HEAPWOOD_INLINE Needs child_needs(const LevelProblem& problem, const LevelPiece& piece,
                                  unsigned side) {
    const std::uint32_t n = side == 0 ? piece.split.left : piece.split.right;
    Needs needs{};
    if (problem.must_be_leaf(n, piece.depth + 1, part_of(piece.cell, piece.split, side))) {
        needs.leaf_references = n;
    } else {
        needs.references = n;
        needs.pieces = 1;
        needs.binned = n > problem.exact_limit ? 1 : 0;
    }
    return needs;
}

/// Where the parts of a piece's child begin, if those of the piece begin at `start`.
HEAPWOOD_INLINE Needs child_start(const LevelProblem& problem, const LevelPiece& piece,
                                  const Needs& start, unsigned side) {
    return side == 0 ? start : start + child_needs(problem, piece, 0);
}

/// The box that the bins of a decided piece's child divide. A child that has all references keeps
/// the bins of the piece.
HEAPWOOD_INLINE Box child_tight(const LevelPiece& piece, unsigned side) {
    return piece.split.parts() ? part_of(piece.tight, piece.split, side) : piece.tight;
}

/// The root as the only piece of its level. For one element.
struct MakeRoot {
    OpenNode root;
    Level level;

    HEAPWOOD_FN void operator()(std::uint32_t) const {
        LevelPiece piece{};
        piece.cell = root.cell;
        piece.tight = root.tight;
        piece.count = root.count;
        piece.depth = root.depth;
        piece.bad_splits = root.bad_splits;
        level.pieces[0] = piece;
    }
};

/// Makes bins empty. For every piece of the level above the exact limit, a warp each.
struct ClearBins {
    struct Scratch {};
    Level level;

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch&, std::uint32_t i) const {
        clear_bins(warp, level.bins[i]);
    }
};

/// Bins the root's references, which it makes of the triangles unless `given` says that they are
/// there. For every chunk of them, a warp each.
struct FillRoot {
    struct Scratch {
        Bins bins;
        BinFrame frame;
    };
    LevelProblem problem;
    OpenNode root;
    bool given;
    Level level;

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& scratch, std::uint32_t i) const {
        const bool bin = root.count > problem.exact_limit;
        clear_bins(warp, scratch.bins);
        if (warp.lane() == 0) scratch.frame = BinFrame::of(root.tight, problem.grid);
        warp.sync();
        const std::uint32_t begin = i * level.chunk;
        const std::uint32_t rest = root.count - begin;
        const std::uint32_t end = begin + (rest < level.chunk ? rest : level.chunk);
        if (!given) {
            fill_root(warp, problem.triangles, begin, end, level.references, bin, scratch.bins,
                      scratch.frame);
        } else if (bin) {
            bin_references(warp, level.references, begin, end, scratch.bins, scratch.frame);
        }
        if (!bin) return;
        warp.sync();
        add_bins(warp, level.bins[0], scratch.bins);
    }
};

/// Chooses what becomes of a piece, cuts off its empty space, and says what it needs. A second cut
/// at the same face is the piece's split: its child that is not empty goes on with all references
/// in the next level. For every piece, a warp each.
template <class Search>
struct Decide {
    using Scratch = Search;
    LevelProblem problem;
    Level level;

    HEAPWOOD_MAY_CALL_HOST
    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& exact, std::uint32_t i) const {
        LevelPiece piece = level.pieces[i];
        const Reference* references = level.references + piece.first;
        const auto cut_empty = [&](const Split& split) {
            if (!piece.cuts.add(split.axis, split.left == 0)) return false;
            piece.cell = part_of(piece.cell, split, split.left == 0 ? 1 : 0);
            ++piece.depth;
            return true;
        };
        if (piece.count > problem.exact_limit) {
            const BinFrame frame = BinFrame::of(piece.tight, problem.grid);
            const BinnedSearch<W> search(warp, level.bins[piece.bins], frame, piece.count);
            decide(
                problem, piece,
                [&] { return best_binned(warp, problem, search, references, piece); }, cut_empty);
        } else {
            bool counted = false;
            decide(
                problem, piece,
                [&] {
                    if (!counted) count_planes(warp, exact, references, piece.count);
                    counted = true;
                    return exact.best(warp, piece.cell, piece.count, problem.model);
                },
                cut_empty);
        }
        warp.sync();  // all lanes have read the piece
        if (warp.lane() != 0) return;
        if (!piece.split.parts()) piece.tight = level.pieces[i].tight;
        level.pieces[i] = piece;
        level.needs[i] = needs_of(piece);
        level.counters[i] = {};
        if (i + 1 == level.count) level.needs[level.count] = {};  // becomes the sum of all
    }

private:
    HEAPWOOD_FN Needs needs_of(const LevelPiece& piece) const {
        Needs needs{};
        if (piece.split.axis == Split::kMakeLeaf) {
            needs.leaf_references = piece.count;
        } else {
            needs = child_needs(problem, piece, 0) + child_needs(problem, piece, 1);
            needs.pairs = 1;
        }
        needs.pairs += piece.cuts.count();
        // Not ceil_div, whose sum may overflow: a chunk may have any size.
        needs.items = (piece.count - 1) / level.chunk + 1;
        return needs;
    }
};

/// Writes the nodes that a decided piece makes, its children as pieces of the next level, and the
/// items of its division. For every piece.
struct Emit {
    LevelProblem problem;
    Level level;
    Level next;
    LevelTree tree;

    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        const LevelPiece piece = level.pieces[i];
        const Needs start = level.needs[i];
        const std::uint32_t items = level.needs[i + 1].items - start.items;
        for (std::uint32_t k = 0; k < items; ++k) {
            level.items[start.items + k] = {i, k * level.chunk};
        }
        std::uint32_t node = piece.node;
        std::uint32_t child = 2 * (tree.next_pair + start.pairs);
        for (unsigned k = 0; k < piece.cuts.count(); ++k, child += 2) {
            const unsigned axis = piece.cuts.axis(k);
            const bool lower = piece.cuts.lower(k);
            const float plane = component(lower ? piece.cell.lo : piece.cell.hi, axis);
            tree.nodes[node] = Node::inner(axis, plane, child);
            tree.nodes[lower ? child : child + 1] = Node::leaf(0, 0);
            node = lower ? child + 1 : child;
        }
        const Split& split = piece.split;
        if (split.axis == Split::kMakeLeaf) {
            tree.nodes[node] = leaf(start, piece.count);
            return;
        }
        tree.nodes[node] = Node::inner(split.axis, split.position, child);
        emit_child(piece, start, 0, child);
        emit_child(piece, start, 1, child + 1);
    }

private:
    HEAPWOOD_INLINE Node leaf(const Needs& start, std::uint32_t count) const {
        return Node::leaf(static_cast<std::uint32_t>(tree.next_reference + start.leaf_references),
                          count);
    }

    HEAPWOOD_FN void emit_child(const LevelPiece& parent, const Needs& parent_start, unsigned side,
                                std::uint32_t node) const {
        const Split& split = parent.split;
        const std::uint32_t count = side == 0 ? split.left : split.right;
        const Needs start = child_start(problem, parent, parent_start, side);
        LevelPiece child{};
        child.cell = part_of(parent.cell, split, side);
        if (problem.must_be_leaf(count, parent.depth + 1, child.cell)) {
            tree.nodes[node] = leaf(start, count);
            return;
        }
        child.tight = child_tight(parent, side);
        child.bad_splits = parent.bad_splits;
        child.first = static_cast<std::uint32_t>(start.references);
        child.count = count;
        child.node = node;
        child.depth = parent.depth + 1;
        child.bins = start.binned;
        next.pieces[start.pieces] = child;
    }
};

/// Writes a piece's references to its children's arrays, cut where they cross the plane, or to the
/// tree's where they belong to a leaf, and bins those of children above the exact limit. For every
/// item, a warp each.
struct Divide {
    struct Scratch {
        Bins bins[2];
        BinFrame frames[2];
        std::uint32_t crossing[kCrossing];
    };
    LevelProblem problem;
    Level level;
    Level next;
    LevelTree tree;

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& scratch, std::uint32_t i) const {
        const LevelItem item = level.items[i];
        const LevelPiece& piece = level.pieces[item.piece];
        const Needs start = level.needs[item.piece];
        const std::uint32_t rest = piece.count - item.begin;
        const std::uint32_t end = item.begin + (rest < level.chunk ? rest : level.chunk);
        const Reference* references = level.references + piece.first;
        if (piece.split.axis == Split::kMakeLeaf) {
            std::uint32_t* to = tree.references + tree.next_reference + start.leaf_references;
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t k = item.begin + warp.lane(); k < end; k += W::width) {
                to[k] = references[k].primitive;
            }
            return;
        }
        Target targets[2];
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            targets[side] = target_of(warp, scratch, piece, start, side);
        }
        const Stretch stretch{references, item.begin, end, piece.split};
        const bool shared = piece.count > level.chunk;
        std::uint32_t used[2] = {0, 0};
        if (shared) reserve(warp, item.piece, stretch, used);
        warp.sync();
        const bool bin[2] = {targets[0].bin, targets[1].bin};
        divide(warp, problem.triangles, problem.clip, stretch, used, bin, scratch.bins,
               scratch.frames, scratch.crossing, Places<W>(targets));
        warp.sync();
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            if (!targets[side].bin) continue;
            Bins& bins = next.bins[targets[side].bins];
            if (shared) {
                add_bins(warp, bins, scratch.bins[side]);
            } else {
                copy_bins(warp, bins, scratch.bins[side]);
            }
        }
    }

private:
    /// Where one child's references go.
    struct Target {
        Reference* references;           ///< nullptr for a leaf's
        std::uint32_t* leaf_references;  ///< a leaf's
        std::uint32_t bins;
        bool bin;
    };

    template <class W>
    HEAPWOOD_FN Target target_of(const W& warp, Scratch& scratch, const LevelPiece& piece,
                                 const Needs& piece_start, unsigned side) const {
        const Needs start = child_start(problem, piece, piece_start, side);
        const Needs needs = child_needs(problem, piece, side);
        Target to{};
        if (needs.pieces == 0) {
            to.leaf_references = tree.references + tree.next_reference + start.leaf_references;
            return to;
        }
        to.references = next.references + start.references;
        to.bins = start.binned;
        to.bin = needs.binned != 0;
        if (to.bin) {
            clear_bins(warp, scratch.bins[side]);
            if (warp.lane() == 0) {
                scratch.frames[side] = BinFrame::of(child_tight(piece, side), problem.grid);
            }
        }
        return to;
    }

    /// The places of a division's references: the next level's arrays, or for leaves the tree.
    template <class W>
    struct Places {
        HEAPWOOD_INLINE explicit Places(const Target (&to)[2]) : targets(to) {}

        const Target (&targets)[2];
        /// Where a warp of width 1 keeps references of leaves for the moment.
        mutable Reference spare[2][W::width == 1 ? SerialSides::kMost : 1];

        HEAPWOOD_INLINE void put(unsigned side, std::uint32_t i, const Reference& r) const {
            // Chosen rather than indexed, which would take local memory.
            Reference* to = side == 0 ? targets[0].references : targets[1].references;
            if (to == nullptr) {
                (side == 0 ? targets[0] : targets[1]).leaf_references[i] = r.primitive;
            } else {
                store_wide(to + i, r);
            }
        }
        Reference* from(unsigned side, std::uint32_t i) const {
            Reference* references = targets[side].references;
            return references == nullptr ? spare[side] : references + i;
        }
        void done(unsigned side, std::uint32_t first, const Reference* r, std::uint32_t n) const {
            if (targets[side].references != nullptr) return;
            for (std::uint32_t i = 0; i < n; ++i) {
                targets[side].leaf_references[first + i] = r[i].primitive;
            }
        }
    };

    /// Collective: reserves places for an item's references on either side.
    template <class W>
    HEAPWOOD_FN void reserve(const W& warp, std::uint32_t piece, const Stretch& stretch,
                             std::uint32_t (&used)[2]) const {
        std::uint32_t counts[2];
        count_sides(warp, stretch, counts);
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            std::uint32_t first = 0;
            if (warp.lane() == 0) {
                first =
                    platform::AtomicRef(level.counters[piece].used[side]).add_relaxed(counts[side]);
            }
            used[side] = warp.shuffle(first, 0);
        }
    }
};

}  // namespace heapwood::kdtree
