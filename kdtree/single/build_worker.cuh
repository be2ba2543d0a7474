/// @file
/// The build itself: what one warp does from the start of the kernel to its end. The same code
/// runs as a warp of a GPU and as a thread of a CPU.
///
/// The tree is made from the root down. A node's references are an array from the allocator; the
/// references are read, split into two arrays that are requested for the children, and the
/// node's own array is freed. By size there are three ways to do that:
/// - large nodes (above large_limit) are jobs: many warps take chunks of the array, and the one
///   that finishes last decides the children's splits from the bins that all have filled;
/// - medium nodes (above exact_limit) are partitioned by one warp, which bins both children in
///   the same pass and decides their splits at once;
/// - small nodes are read into memory that a warp's lanes share; every plane is tried.
/// A warp keeps the children on a stack of its own and gives the oldest away when others idle.
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
#include "kdtree/single/jobs.cuh"
#include "kdtree/single/node_arrays.cuh"
#include "kdtree/single/warp_tasks.cuh"
#include "kdtree/split/decide.cuh"

namespace heapwood::kdtree {

/// One warp's part of a build with allocator A.
template <platform::Warp W, class A, Arrays kArrays = Arrays::either>
class BuildWorker {
    using AllocatorRef = typename A::Ref;

public:
    /// `context.warp` numbers the warps of the build from 0. `scratch` is shared by the lanes of
    /// this warp alone. Refers to its arguments, but not to the context.
    HEAPWOOD_FN BuildWorker(const W& warp, const Problem& problem, const AllocatorRef& allocator,
                            const allocators::Context& context, Scratch<W>& scratch)
        : warp_(warp),
          problem_(problem),
          warp_number_(context.warp),
          scratch_(scratch),
          output_(warp, problem),
          clock_(warp, problem.profiles, context.warp),
          arrays_(warp, problem, allocator, context),
          tasks_(warp, problem, context.warp),
          jobs_(warp, problem, scratch) {}

    /// Works until the build is done. Collective; returns when no work is left anywhere.
    HEAPWOOD_FN void run() {
        // All begin with the job that fills the root's array.
        Task task{start(), Piece{}};
        if (task.job == nullptr) return;
        // Whatever the ways of dividing a node have in common stands here, once: a multiprocessor's
        // cache for instructions is smaller than the kernel.
        for (bool more = true; more;) {
            Division division;
            if (task.job == nullptr) {
                prepare_piece(task, division);
                if (task.job != nullptr) continue;  // it has become a job
            } else {
                clock_.enter(Phase::chunks);
                if (!jobs_.take_chunk(*task.job, task.piece, division, tasks_)) {
                    more = next(task);
                    continue;
                }
            }
            clock_.enter(task.job != nullptr                       ? Phase::divide_large
                         : task.piece.count > problem_.exact_limit ? Phase::divide_medium
                                                                   : Phase::divide_small);
            if (division.begin < division.end) {
                clock_.count_divided(division.end - division.begin);
                divide_piece(warp_, problem_, task.piece, division, scratch_, output_);
            }
            clock_.enter(Phase::other);
            warp_.sync();  // what the lanes have written: references, bins
            if (task.job != nullptr) {
                clock_.enter(Phase::chunks);
                if (!jobs_.finish_chunk(*task.job, task.piece, division, tasks_)) continue;
            }
            clock_.enter(Phase::free);
            arrays_.release(task.piece, division);
            clock_.enter(Phase::other);
            schedule_children(task.piece, division);
            tasks_.share([&](Piece& piece) { return arrays_.move_out(piece); });
            more = next(task);
        }
        clock_.enter(Phase::other);
        if (leader()) arrays_.flush();
    }

private:
    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    /// Warp 0 takes the root's array and publishes the job that fills it. nullptr: there was no
    /// memory for it, and there is nothing to do.
    HEAPWOOD_FN Job* start() {
        Job& job = problem_.jobs[0];
        auto root_ready = problem_.state->root_ready.ref();
        if (warp_number_ == 0) {
            clock_.start_all();
            publish_root(job);
        }
        if (leader()) {
            for (unsigned n = 0; root_ready.load_acquire() == 0; ++n) W::back_off(n);
        }
        warp_.sync();
        clock_.start();
        return job.piece.references == nullptr ? nullptr : &job;
    }

    HEAPWOOD_FN void publish_root(Job& job) {
        Reference* array = leader() ? arrays_.allocate_root() : nullptr;
        jobs_.make_root_job(job, array, tasks_);
        if (leader() && array == nullptr) {
            output_.record_failure(Status::pool_exhausted, arrays_.bytes_of(problem_.count));
        }
        warp_.sync();
        // Release: the job, to every warp that acquires root_ready.
        if (leader()) problem_.state->root_ready.ref().store_release(1);
    }

    /// The next task: this warp's newest, else whatever another warp gives. False when the build
    /// is done.
    HEAPWOOD_FN bool next(Task& task) {
        if (tasks_.pop(task)) {
            arrays_.go_back_to(task.piece);
            return true;
        }
        arrays_.clear_arena();
        clock_.enter(Phase::wait);
        if (!tasks_.wait_for(task)) return false;
        clock_.enter(Phase::other);
        return true;
    }

    /// Makes a leaf of a piece, or makes ready to divide it, or makes it a job. It may cut off
    /// empty space first.
    HEAPWOOD_FN void prepare_piece(Task& task, Division& division) {
        Piece& piece = task.piece;
        if (tasks_.failed()) return;
        warp_.sync();  // the scratch memory's previous use is over in all lanes
        if (piece.count > problem_.exact_limit) {
            tasks_.share_soon();
            // Only a build that has failed leaves such a piece without a decision: it has no split
            // to divide it by.
            if (piece.split.axis == Split::kUndecided) {
                tasks_.fail();
                return;
            }
        } else {
            clock_.enter(Phase::search);
            decide_small(piece);
            clock_.enter(Phase::other);
        }
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
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) prepare_child(piece, side, division);
        warp_.sync();
        division.to_do = 3U & ~division.leaves;
        if (piece.count > problem_.large_limit) task.job = jobs_.make(piece, division, tasks_);
    }

    /// Clears a child's bins if it will be decided on by them, or writes its node if it is a leaf.
    HEAPWOOD_INLINE void prepare_child(const Piece& piece, unsigned side, Division& division) {
        const Split& split = piece.split;
        const std::uint32_t count = side == 0 ? split.left : split.right;
        if (piece.count > problem_.exact_limit) {
            clear_bins(warp_, scratch_.bins[side]);
            if (leader()) {
                scratch_.frames[side] =
                    BinFrame::of(part_of(piece.tight, split, side), problem_.grid);
            }
        } else if (problem_.must_be_leaf(count, piece.depth + 1U,
                                         part_of(piece.cell, split, side))) {
            // Written out with the division; its array is filled all the same, as any node's.
            const std::uint64_t first = output_.reserve_references(count);
            (side == 0 ? division.leaf_references[0] : division.leaf_references[1]) = first;
            division.leaves |= 1U << side;
            if (leader()) {
                output_.write_node(division.node + side,
                                   Node::leaf(static_cast<std::uint32_t>(first), count));
            }
        }
    }

    /// Schedules the children of a node that has been divided, whose bins, if they are above the
    /// exact limit, are in the scratch memory. This warp goes on with one of them.
    HEAPWOOD_FN void schedule_children(const Piece& piece, const Division& division) {
        const unsigned first = goes_first(piece.split);
        std::uint32_t above = division.to_do == 3 ? 1 : 0;
        HEAPWOOD_UNROLL(1)
        for (unsigned i = 0; i < 2; ++i) {
            const unsigned side = i ^ first;
            if ((division.to_do >> side & 1U) == 0) continue;
            Piece child = piece;
            if (!division.whole) {
                child =
                    child_of(piece, piece.split, side,
                             side == 0 ? division.arrays[0] : division.arrays[1], division.node);
            }
            if (child.count > problem_.exact_limit && !tasks_.failed()) {
                clock_.enter(Phase::decide);
                decide_binned(child, scratch_.bins[side], scratch_.frames[side]);
                clock_.enter(Phase::other);
            }
            if (leader()) tasks_.put(above, {nullptr, child});
            --above;
        }
        tasks_.grow(platform::popcount(division.to_do));
        warp_.sync();
    }

    HEAPWOOD_INLINE static Piece child_of(const Piece& parent, const Split& split, unsigned side,
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

    /// Decides on a piece above the exact limit by its bins.
    HEAPWOOD_FN void decide_binned(Piece& piece, const Bins& bins, const BinFrame& frame) {
        decide(
            problem_, piece,
            [&] { return best_binned(warp_, problem_, bins, frame, piece.references, piece); },
            [&](const Split& split) { output_.cut_empty(piece, split); });
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
            [&](const Split& split) { output_.cut_empty(piece, split); });
    }

    const W warp_;
    const Problem& problem_;
    const std::uint32_t warp_number_;
    Scratch<W>& scratch_;
    BuildOutput<W> output_;
    PhaseClock<W> clock_;
    NodeArrays<W, A, kArrays> arrays_;
    WarpTasks<W> tasks_;
    const Jobs<W> jobs_;
};

}  // namespace heapwood::kdtree
