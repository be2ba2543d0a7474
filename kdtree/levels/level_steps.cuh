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
#include "kdtree/levels/level_state.cuh"
#include "kdtree/model/clip.cuh"
#include "kdtree/split/split_exact.cuh"

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

/// The root as the only piece of its level. For one element.
struct MakeRoot {
    LevelProblem problem;
    Level level;

    HEAPWOOD_FN void operator()(std::uint32_t) const {
        LevelPiece root{};
        root.cell = problem.bounds;
        root.box = problem.bounds;
        root.count = problem.count;
        level.pieces[0] = root;
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

/// Makes the root's references of the triangles, and bins them. For every chunk of the triangles,
/// a warp each.
struct FillRoot {
    struct Scratch {
        Bins bins;
        BinFrame frame;
    };
    LevelProblem problem;
    Level level;

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& scratch, std::uint32_t i) const {
        const bool bin = problem.count > problem.exact_limit;
        clear_bins(warp, scratch.bins);
        if (warp.lane() == 0) scratch.frame = BinFrame::of(problem.bounds, problem.grid);
        warp.sync();
        const std::uint32_t begin = i * level.chunk;
        const std::uint32_t rest = problem.count - begin;
        const std::uint32_t end = begin + (rest < level.chunk ? rest : level.chunk);
        GrowingBox around;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t k = begin + warp.lane(); k < end; k += W::width) {
            const Reference r = whole_reference(load_wide(problem.triangles + k), k);
            store_wide(level.references + k, r);
            around.add(r.lo, r.hi);
            if (bin) count_in_bins(scratch.bins, scratch.frame, {r.lo, r.hi});
        }
        if (!bin) return;
        store_box(warp, scratch.bins, around);
        warp.sync();
        add_bins(warp, level.bins[0], scratch.bins);
    }
};

/// Chooses what becomes of a piece, cuts off its empty space, and says what it needs. For every
/// piece, a warp each.
struct Decide {
    using Scratch = ExactSearch;
    LevelProblem problem;
    Level level;

    template <platform::Warp W>
    HEAPWOOD_FN void operator()(const W& warp, Scratch& exact, std::uint32_t i) const {
        LevelPiece piece = level.pieces[i];
        const bool binned = piece.count > problem.exact_limit;
        const Bins* bins = binned ? level.bins + piece.bins : nullptr;
        BinFrame frame{};
        if (binned) {
            frame = BinFrame::of(piece.box, problem.grid);
        }
        bool counted = false;
        for (;;) {
            piece.split = Split{};
            piece.split.axis = Split::kMakeLeaf;
            if (problem.must_be_leaf(piece.count, piece.depth, piece.cell)) break;
            if (!binned && !counted) count(warp, exact, piece);
            counted = true;
            const Choice choice = binned ? among_bins(warp, *bins, frame, piece)
                                         : exact.best(warp, piece.cell, piece.count, problem.model);
            if (!problem.accept(piece, choice)) break;
            const Split& split = piece.split;
            if (split.left > 0 && split.right > 0) break;
            piece.cell = part_of(piece.cell, split, split.left == 0 ? 1 : 0);
            piece.cuts.add(split.axis, split.left == 0);
            ++piece.depth;
        }
        warp.sync();  // all lanes have read the piece
        if (warp.lane() != 0) return;
        level.pieces[i] = piece;
        level.needs[i] = needs_of(piece);
        level.counters[i] = {};
        if (i + 1 == level.count) level.needs[level.count] = {};  // becomes the sum of all
    }

private:
    template <class W>
    HEAPWOOD_FN Choice among_bins(const W& warp, const Bins& bins, const BinFrame& frame,
                                  LevelPiece& piece) const {
        piece.box = problem.tight_cuts ? bins.tight() : piece.cell;
        Choice choice = split_binned(warp, bins, frame, problem.grid, piece.cell, piece.box,
                                     piece.count, problem.model);
        const bool parts = choice.split.left > 0 && choice.split.right > 0;
        if (parts && piece.count <= problem.snap_limit) {
            snap(warp, problem.model, piece.cell, level.references + piece.first, piece.count,
                 choice);
        }
        return choice;
    }

    template <class W>
    HEAPWOOD_FN void count(const W& warp, ExactSearch& exact, const LevelPiece& piece) const {
        HEAPWOOD_UNROLL(1)
        for (unsigned k = warp.lane(); k < piece.count; k += W::width) {
            const Reference r = load_wide(level.references + piece.first + k);
            exact.set(k, r.lo, r.hi);
        }
        warp.sync();
        exact.count(warp, piece.count);
    }

    HEAPWOOD_FN Needs needs_of(const LevelPiece& piece) const {
        Needs needs{};
        if (piece.split.axis == Split::kMakeLeaf) {
            needs.leaf_references = piece.count;
        } else {
            needs = child_needs(problem, piece, 0) + child_needs(problem, piece, 1);
            needs.pairs = 1;
        }
        needs.pairs += piece.cuts.count();
        needs.items = platform::ceil_div(piece.count, level.chunk);
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
        child.box = part_of(parent.box, split, side);
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
        const bool shared = piece.count > level.chunk;
        if (shared) reserve(warp, item, end, targets);
        warp.sync();
        divide(warp, scratch, piece, item.begin, end, targets);
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
        std::uint32_t used;              ///< the first to write
        std::uint32_t bins;
        bool bin;
    };

    template <class W>
    HEAPWOOD_FN Target target_of(const W& warp, Scratch& scratch, const LevelPiece& piece,
                                 const Needs& piece_start, unsigned side) const {
        const Split& split = piece.split;
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
                scratch.frames[side] = BinFrame::of(part_of(piece.box, split, side), problem.grid);
            }
        }
        return to;
    }

    /// Collective: counts how many of an item's references go to either child, and reserves places
    /// for them.
    template <class W>
    HEAPWOOD_FN void reserve(const W& warp, const LevelItem& item, std::uint32_t end,
                             Target (&targets)[2]) const {
        const LevelPiece& piece = level.pieces[item.piece];
        const Split& split = piece.split;
        std::uint32_t parts[2] = {0, 0};
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t k = item.begin + warp.lane(); k < end; k += W::width) {
            const Reference& r = level.references[piece.first + k];
            const float lo = component(r.lo, split.axis);
            const float hi = component(r.hi, split.axis);
            parts[0] += goes_left(lo, hi, split.position, split.side);
            parts[1] += goes_right(lo, hi, split.position, split.side);
        }
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            const std::uint32_t all = warp.sum(parts[side]);
            std::uint32_t first = 0;
            if (warp.lane() == 0) {
                first = platform::AtomicRef(level.counters[item.piece].used[side]).add_relaxed(all);
            }
            targets[side].used = warp.shuffle(first, 0);
        }
    }

    template <class W>
    HEAPWOOD_FN void divide(const W& warp, Scratch& scratch, const LevelPiece& piece,
                            std::uint32_t begin, std::uint32_t end, Target (&targets)[2]) const {
        const Split split = piece.split;
        const Reference* references = level.references + piece.first;
        GrowingBox around[2];
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t base = begin; base < end; base += W::width) {
            const std::uint32_t k = base + warp.lane();
            Reference below{};
            bool to[2] = {false, false};
            if (k < end) {
                below = load_wide(references + k);
                const float lo = component(below.lo, split.axis);
                const float hi = component(below.hi, split.axis);
                to[0] = goes_left(lo, hi, split.position, split.side);
                to[1] = goes_right(lo, hi, split.position, split.side);
            }
            Reference above = below;
            if (to[0] && to[1]) {
                cut(problem.triangles, problem.clip, split.axis, split.position, below, above);
            }
            HEAPWOOD_UNROLL_ALL
            for (unsigned side = 0; side < 2; ++side) {
                const Reference& part = side == 0 ? below : above;
                Target& target = targets[side];
                const std::uint32_t place = target.used + warp.rank(to[side]);
                if (to[side]) {
                    if (target.references == nullptr) {
                        target.leaf_references[place] = part.primitive;
                    } else {
                        store_wide(target.references + place, part);
                    }
                    if (target.bin) around[side].add(part.lo, part.hi);
                }
                target.used += warp.count(to[side]);
            }
            // Lanes count for one child each, then those that cut a reference for the other.
            HEAPWOOD_UNROLL(1)
            for (unsigned round = 0; round < 2 && (targets[0].bin || targets[1].bin); ++round) {
                const unsigned side = round == 0 && to[0] ? 0 : 1;
                const bool bin = side == 0 ? targets[0].bin : targets[1].bin;
                if (!bin || !(round == 0 ? k < end : to[0] && to[1])) continue;
                const Reference& part = round == 0 ? below : above;
                count_in_bins(scratch.bins[side], scratch.frames[side], {part.lo, part.hi});
            }
        }
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            if (targets[side].bin) store_box(warp, scratch.bins[side], around[side]);
        }
    }
};

}  // namespace heapwood::kdtree
