/// @file
/// The build itself: what one warp does from the start of the kernel to its end. The same code
/// runs as a warp of a GPU and as a thread of a CPU.
///
/// The tree is made from the root down. A node's references are an array from the allocator; the
/// references are read, split into two arrays that are requested for the children, and the
/// node's own array is freed. By size there are four ways to do that, in three stages:
/// - first all warps divide the large nodes (above large_limit) together, chunk by chunk;
/// - then each warp works for itself. Medium nodes (above exact_limit) are partitioned by one warp,
///   which bins both children in the same pass and decides their splits at once;
/// - small nodes are read into memory that a warp's lanes share; every plane is tried;
/// - tiny nodes (up to tiny_limit) wait for the third stage, in which a warp makes several at the
///   same time. There every plane is tried, too.
/// Some warps leave the first stage early (large_stage.cuh), so the first two overlap. In the
/// second a warp keeps the children on a stack of its own and gives the oldest away when others
/// idle. Warps of one lane have no third stage, nor has a build with a small pool, with an
/// allocator of slow_crowds, or with arrays from the allocator for large nodes only.
///
/// Which way is taken, by whom and in which order, changes nothing in the result: counts are
/// integers, ties have an order, and node numbers are made canonical afterwards.
///
/// Failure: when the allocator has no memory the first warp to see it records that; from then on
/// every warp only frees what it meets, so that the build ends soon and the pool is whole. When
/// the node or reference array is full nothing more is written to it, but the build goes on
/// counting, so that the caller learns how much would have been enough.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/build_result.h"
#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/division.cuh"
#include "kdtree/single/large_stage.cuh"
#include "kdtree/single/node_arrays.cuh"
#include "kdtree/single/tiny_nodes.cuh"
#include "kdtree/single/tiny_stage.cuh"
#include "kdtree/single/warp_tasks.cuh"
#include "kdtree/split/decide.cuh"

namespace heapwood::kdtree {

/// One warp's part of a build with allocator A.
template <platform::Warp W, class Team, class A, Arrays kArrays = Arrays::either>
class BuildWorker {
    using AllocatorRef = typename A::Ref;
    using ArraysOfNodes = NodeArrays<W, A, kArrays>;
    using Retired = typename ArraysOfNodes::Retired;
    static constexpr bool kSharesCache = A::traits().shares_cache;

public:
    /// `context.warp` numbers the warps of the build from 0. The cache is of this warp alone, or of
    /// its team where A shares_cache; `scratch` is of this warp. Refers to its arguments, but not
    /// to the context.
    HEAPWOOD_FN BuildWorker(const W& warp, const Team& team, const Problem& problem,
                            const AllocatorRef& allocator, const allocators::Context& context,
                            Scratch<W>& scratch)
        : warp_(warp),
          team_(team),
          problem_(problem),
          scratch_(scratch),
          output_(warp, problem),
          clock_(warp, problem.profiles, context.warp),
          multiprocessor_(context.multiprocessor),
          arrays_(warp, problem, allocator, context),
          tasks_(warp, problem, context.warp),
          tiny_(warp, problem, context.warp, ArraysOfNodes::kForLanes && !arrays_.has_arena()) {}

    /// Works until the build is done. Collective, of all warps; returns when no work is left
    /// anywhere.
    HEAPWOOD_FN void run() {
        // Every other pair of multiprocessors: the two of a pair may share caches.
        const bool helps = multiprocessor_ / 2 % 2 == 1 && team_.rank() != 0;
        LargeStage large(warp_, team_, problem_, scratch_, output_, arrays_, tasks_, clock_, helps);
        if (large.run()) {
            work();
            if constexpr (ArraysOfNodes::kForLanes) {
                clock_.enter(Phase::tiny);
                TinyStage(warp_, problem_, output_, arrays_, tiny_).run();
            }
        }
        clock_.enter(Phase::other);
        if (leader()) output_.report();
        bool flushes = leader();
        if constexpr (kSharesCache) {
            team_.sync();  // from here on no warp of the team uses the cache
            flushes = flushes && team_.leads();
        }
        if (flushes) arrays_.flush();
        clock_.enter(Phase::wait);  // records what the warp was busy with
    }

private:
    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    /// The second stage.
    HEAPWOOD_FN void work() {
        Piece piece;
        Retired retired;
        bool has_one = false;
        if constexpr (!ArraysOfNodes::kFrees) {
            while (has_one || next(piece, true)) {
                decide_piece(piece);
                has_one = make(piece, retired);
            }
        } else {
            for (;;) {
                has_one = has_one || next(piece, false);
                if (has_one) decide_piece(piece);
                // Only now: a free waits until all is there that was written with the last node.
                clock_.enter(Phase::free);
                arrays_.release(retired);
                clock_.enter(Phase::other);
                if (has_one) {
                    has_one = make(piece, retired);
                } else {
                    if (!next(piece, true)) return;
                    has_one = true;
                }
            }
        }
    }

    /// Makes a node of a piece that has been decided on. This warp goes on with a child of it:
    /// `piece` becomes that child. False: there is none to go on with. @param retired what is to be
    /// freed then
    HEAPWOOD_INLINE bool make(Piece& piece, Retired& retired) {
        // Whatever the ways of dividing a node have in common stands here, once: a multiprocessor's
        // cache for instructions is smaller than the kernel.
        Division division;
        prepare_piece(piece, division);
        if (division.end > 0) {
            clock_.enter(piece.count > problem_.exact_limit ? Phase::divide_medium
                                                            : Phase::divide_small);
            clock_.count_divided(division.end);
            divide_piece(warp_, problem_, piece, division, scratch_, output_);
            clock_.enter(Phase::other);
        }
        warp_.sync();  // what the lanes have written: references, bins
        retired = arrays_.retire(piece, division);
        const bool goes_on = schedule_children(piece, division);
        tasks_.share(goes_on ? 0 : 1, [&](Piece& given) { return arrays_.move_out(given); });
        return goes_on;
    }

    /// The next piece: this warp's newest, else, if it `waits`, the list's next or whatever another
    /// warp gives. False: there is none; if it waits, the build is done.
    HEAPWOOD_FN bool next(Piece& piece, bool waits) {
        for (;;) {
            if (tasks_.pop(piece)) {
                arrays_.go_back_to(piece);
            } else {
                if (!waits) return false;
                arrays_.clear_arena();
                clock_.enter(Phase::wait);
                if (!tasks_.take_listed(piece)) {
                    tiny_.share();
                    if (!tasks_.wait_for(piece)) return false;
                }
                clock_.enter(Phase::other);
            }
            if (!tiny_.takes(piece.count)) return true;
            tiny_.push(piece);
        }
    }

    /// Decides on a piece, unless that has been done. It may cut off empty space first.
    HEAPWOOD_FN void decide_piece(Piece& piece) {
        // A build that has failed may leave a piece without a decision, but then this warp knows.
        if (tasks_.failed()) return;
        warp_.sync();  // the scratch memory's previous use is over in all lanes
        if (piece.count > problem_.exact_limit) {
            tasks_.share_soon();
        } else {
            clock_.enter(Phase::search);
            decide_small(piece);
            clock_.enter(Phase::other);
        }
    }

    /// Makes a leaf of a piece, or makes ready to divide it.
    HEAPWOOD_FN void prepare_piece(const Piece& piece, Division& division) {
        if (tasks_.failed()) return;
        const Split& split = piece.split;
        if (split.axis == Split::kMakeLeaf) {
            output_.write_leaf(piece);
            return;
        }
        if (!arrays_.place_near(piece, division.arrays)) {
            clock_.enter(Phase::allocate);
            if (!arrays_.allocate_children(split, output_, division.arrays)) {
                tasks_.fail();
                return;
            }
        }
        clock_.enter(Phase::other);
        division.end = piece.count;
        division.node = output_.reserve_pair();
        if (leader()) {
            output_.write_node(piece.node, Node::inner(split.axis, split.position, division.node));
        }
        if (piece.count > problem_.exact_limit) {
            prepare_bins(piece);
        } else {
            write_leaves(piece, division);
        }
        warp_.sync();
        division.to_do = 3U & ~division.leaves;
    }

    /// Collective: makes the bins ready by which a medium piece's children will be decided on.
    HEAPWOOD_INLINE void prepare_bins(const Piece& piece) {
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            clear_bins(warp_, scratch_.division.bins[side]);
            if (leader()) {
                scratch_.frames[side] =
                    BinFrame::of(part_of(piece.tight, piece.split, side), problem_.grid);
            }
        }
    }

    /// Collective: writes the nodes of a small piece's children that are leaves. Their references
    /// are written out with the division; their arrays are filled all the same, as any node's.
    HEAPWOOD_INLINE void write_leaves(const Piece& piece, Division& division) {
        const Split& split = piece.split;
        std::uint32_t leaves = 0;
        for (unsigned first = 0; first < 2; first += W::width) {
            const unsigned side = first + warp_.lane();
            leaves |=
                warp_.ballot(side < 2 && problem_.must_be_leaf(side == 0 ? split.left : split.right,
                                                               piece.depth + 1U,
                                                               part_of(piece.cell, split, side)))
                << first;
        }
        if (leaves == 0) return;
        const std::uint32_t left = (leaves & 1U) != 0 ? split.left : 0;
        const std::uint32_t right = (leaves & 2U) != 0 ? split.right : 0;
        division.leaves = leaves;
        division.leaf_references[0] = output_.reserve_references(left + right);
        division.leaf_references[1] = division.leaf_references[0] + left;
        for (unsigned side = warp_.lane(); side < 2; side += W::width) {
            if ((leaves >> side & 1U) == 0) continue;
            const std::uint64_t first = division.leaf_references[0] + (side == 0 ? 0 : left);
            output_.write_node(division.node + side, Node::leaf(static_cast<std::uint32_t>(first),
                                                                side == 0 ? left : right));
        }
    }

    /// Schedules the children of a node that has been divided, whose bins, if they are above the
    /// exact limit, are in the scratch memory. This warp goes on with one of them: `piece` becomes
    /// that child. False: there is none to go on with.
    HEAPWOOD_FN bool schedule_children(Piece& piece, const Division& division) {
        const unsigned first = goes_first(piece.split);
        bool goes_on = false;
        HEAPWOOD_UNROLL(1)
        for (unsigned i = 0; i < 2; ++i) {
            const unsigned side = i == 0 ? 1 - first : first;
            if ((division.to_do >> side & 1U) == 0) continue;
            Piece child =
                child_of(piece, piece.split, side,
                         side == 0 ? division.arrays[0] : division.arrays[1], division.node);
            if (piece.count <= problem_.exact_limit) child.split.axis = Split::kNotLeaf;
            if (child.count > problem_.exact_limit && !tasks_.failed()) {
                clock_.enter(Phase::decide);
                decide_binned<Loops::short_code>(warp_, problem_, child,
                                                 scratch_.division.bins[side],
                                                 scratch_.frames[side], output_);
                clock_.enter(Phase::other);
            }
            if (tiny_.takes(child.count)) {
                tiny_.push(child);
            } else if (i == 1) {
                piece = child;
                goes_on = true;
            } else {
                tasks_.push(child);
            }
        }
        warp_.sync();
        return goes_on;
    }

    /// Decides on a small piece by all planes.
    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void decide_small(Piece& piece) {
        bool counted = false;
        decide(
            problem_, piece,
            [&] {
                if (!counted) count_planes(warp_, scratch_.exact, piece.references, piece.count);
                counted = true;
                return scratch_.exact.best(warp_, piece.cell, piece.count, problem_.model);
            },
            [&](const Split& split) {
                output_.cut_empty(piece, split);
                return true;
            });
    }

    const W warp_;
    const Team team_;
    const Problem& problem_;
    Scratch<W>& scratch_;
    BuildOutput<W> output_;
    PhaseClock<W> clock_;
    const std::uint32_t multiprocessor_;
    ArraysOfNodes arrays_;
    WarpTasks<W> tasks_;
    TinyNodes<W> tiny_;
};

}  // namespace heapwood::kdtree
