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

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/builder.h"
#include "kdtree/model/node_rules.cuh"
#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/split/sides_serial.h"
#include "kdtree/split/split_binned_serial.h"

namespace heapwood::kdtree {

/// What a worker is compiled for (BuildConfig::small_arrays): arrays from the allocator for every
/// node, for large ones only, or either, as the problem says. A kernel for one is faster: 2 % with
/// atomicmalloc, 8 % with hybrid (sponza, H100).
enum class Arrays { every, large, either };

/// One warp's part of a build with allocator A.
template <platform::Warp W, class A, Arrays kArrays = Arrays::either>
class BuildWorker {
    using AllocatorRef = typename A::Ref;
    /// Both children's arrays are taken in one request, as the papers do, where nobody minds that
    /// they are freed apart from one another.
    static constexpr bool kJoint = A::traits().splittable || !A::traits().frees_individually;
    static constexpr bool kFrees = A::traits().frees_individually;

public:
    /// `context.warp` numbers the warps of the build from 0. `scratch` is shared by the lanes of
    /// this warp alone. Refers to its arguments.
    HEAPWOOD_FN BuildWorker(const W& warp, const Problem& problem, const AllocatorRef& allocator,
                            const allocators::Context& context, Scratch<W>& scratch)
        : warp_(warp),
          problem_(problem),
          allocator_(allocator),
          context_(context),
          scratch_(scratch),
          state_(*problem.state),
          output_(warp, problem),
          clock_(warp, problem.profiles, context.warp),
          queue_(problem.slots, problem.slot_bits, &problem.state->queue_head,
                 &problem.state->queue_tail),
          stack_(problem.stacks + static_cast<std::size_t>(context.warp) * kStackSize) {}

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
            } else if (!prepare_chunk(*task.job, task.piece, division)) {
                more = next(task);
                continue;
            }
            clock_.enter(task.job != nullptr                       ? Phase::divide_large
                         : task.piece.count > problem_.exact_limit ? Phase::divide_medium
                                                                   : Phase::divide_small);
            if (division.begin < division.end) {
                clock_.count_divided(division.end - division.begin);
                partition(task.piece, division);
            }
            clock_.enter(Phase::other);
            warp_.sync();  // what the lanes have written: references, bins
            if (task.job != nullptr && !finish_chunk(*task.job, task.piece, division)) continue;
            release(task.piece, division);
            schedule_children(task.piece, division);
            share();
            more = next(task);
        }
        clock_.enter(Phase::other);
        if (leader()) allocators::flush(allocator_, context_);
    }

private:
    /// A warp that has seen nobody idle looks again after this many small nodes, or one larger.
    static constexpr std::uint32_t kSharePeriod = 16;
    /// References of a job below which a further warp costs more than it helps. (A smaller
    /// BuildConfig::chunk goes first.)
    static constexpr std::uint32_t kSmallestChunk = W::width == 1 ? 1024 : 128;

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

    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    // ---------------------------------------------------------------- start and tasks

    /// Warp 0 takes the root's array and publishes the job that fills it. nullptr: there was no
    /// memory for it, and there is nothing to do.
    HEAPWOOD_FN Job* start() {
        Job& job = problem_.jobs[0];
        if (context_.warp == 0) {
            clock_.start_all();
            publish_root(job);
        }
        if (leader()) {
            for (unsigned n = 0; state_.root_ready.ref().load_acquire() == 0; ++n) W::back_off(n);
        }
        warp_.sync();
        clock_.start();
        return job.piece.references == nullptr ? nullptr : &job;
    }

    HEAPWOOD_FN void publish_root(Job& job) {
        if (leader()) {
            const std::uint64_t bytes = bytes_of(problem_.count);
            job.piece.references = static_cast<Reference*>(allocator_.allocate(context_, bytes));
            job.piece.count = problem_.count;
            job.piece.node = 0;
            job.piece.cell = problem_.bounds;
            job.piece.depth = 0;
            job.piece.bad_splits = 0;
            job.piece.split = Split{};
            job.makes_root = true;
            job.frames[0] = BinFrame::of(problem_.bounds, problem_.grid);
            state_.nodes = 1;  // counts pairs: the root and a sibling that is not used
            state_.jobs.value = 1;
            state_.outstanding.value = 1;
            if (job.piece.references == nullptr)
                output_.record_failure(Status::pool_exhausted, bytes);
        }
        idle_ = problem_.warps - 1;
        prepare(job);
        warp_.sync();
        // Release: the job, to every warp that acquires root_ready.
        if (leader()) state_.root_ready.ref().store_release(1);
    }

    /// The next task: this warp's newest, else whatever another warp gives. False when the build
    /// is done.
    HEAPWOOD_FN bool next(Task& task) {
        if (top_ > bottom_) {
            task = stack_[--top_];
            if (is_near(task.piece.references)) {
                arena_used_ =
                    static_cast<std::uint32_t>(task.piece.references - arena()) + task.piece.count;
            } else if (task.piece.count > problem_.exact_limit) {
                arena_used_ = 0;  // below such a node there are but siblings of its like
            }
            return true;
        }
        top_ = bottom_ = arena_used_ = 0;
        clock_.enter(Phase::wait);
        std::uint32_t ticket = 0;
        if (leader()) {
            if (credits_ > 0 && state_.outstanding.ref().sub_acq_rel(credits_) == credits_) {
                state_.done.ref().store_release(1);
            }
            ticket = queue_.take_ticket();
        }
        credits_ = 0;
        ticket = warp_.shuffle(ticket, 0);
        // The whole warp sleeps between looks, to leave the multiprocessor to warps that work.
        for (unsigned n = 0;; ++n) {
            bool found = false;
            bool done = false;
            if (leader()) {
                found = queue_.poll(ticket);
                // Everybody polls this one word, so not at every turn.
                done = n % 4 == 0 && state_.done.ref().load_relaxed() != 0;
            }
            if (warp_.any(found)) break;
            if (warp_.any(done)) return false;
            W::back_off(n);
        }
        clock_.enter(Phase::other);
        warp_.sync();
        task = queue_.task_of(ticket);
        warp_.sync();
        if (leader()) queue_.release(ticket);
        if (task.job == nullptr) credits_ = 1;
        return true;
    }

    HEAPWOOD_FN void push(const Task& task) {
        if (leader()) stack_[top_] = task;
        ++top_;
        warp_.sync();
    }

    /// Now and then, gives this warp's oldest tasks, which are mostly the largest, to idle warps,
    /// and looks whether the build has failed.
    HEAPWOOD_FN void share() {
        if (--until_share_ > 0) return;
        look_around();
        until_share_ = idle_ > 0 ? 1 : kSharePeriod;
        // What this warp still has is only to be freed, and may be without a decision.
        if (aborted_) return;
        for (; may_give_ > 0 && top_ - bottom_ > 1; --may_give_, ++bottom_) {
            Task task = stack_[bottom_];
            if (is_near(task.piece.references) && !move_out(task.piece)) return;
            queue_.give(warp_, task, 1,
                        [&](std::uint32_t) { state_.outstanding.ref().add_relaxed(1); });
        }
    }

    /// Updates what this warp knows of the others: about how many idle, and whether the build has
    /// failed.
    HEAPWOOD_FN void look_around() {
        bool failed = false;
        if (leader()) {
            idle_ = queue_.waiting();
            failed = output_.has_failed();
        }
        aborted_ = warp_.any(failed);
        idle_ = warp_.shuffle(idle_, 0);
        may_give_ = idle_ < TaskQueue<Task>::kMostGiven ? idle_ : TaskQueue<Task>::kMostGiven;
    }

    // ---------------------------------------------------------------- memory

    HEAPWOOD_INLINE static std::uint64_t bytes_of(std::uint32_t count) {
        return std::uint64_t{count} * sizeof(Reference);
    }

    /// Collective: arrays for both children, or false (and nothing allocated).
    HEAPWOOD_FN bool allocate_children(const Split& split, Reference* (&arrays)[2]) {
        clock_.enter(Phase::allocate);
        const std::size_t bytes[2] = {bytes_of(split.left), bytes_of(split.right)};
        if constexpr (kJoint) {
            void* both = leader() ? allocator_.allocate(context_, bytes[0] + bytes[1]) : nullptr;
            arrays[0] = reinterpret_cast<Reference*>(
                warp_.shuffle(std::uint64_t{reinterpret_cast<std::uintptr_t>(both)}, 0));
            if (arrays[0] != nullptr) {
                arrays[1] = arrays[0] + split.left;
                return true;
            }
        } else if constexpr (allocators::AllocatesPairs<AllocatorRef>) {
            void* blocks[2] = {nullptr, nullptr};
            if (leader()) allocator_.allocate_pair(context_, bytes, blocks);
            for (unsigned side = 0; side < 2; ++side) {
                arrays[side] = reinterpret_cast<Reference*>(warp_.shuffle(
                    std::uint64_t{reinterpret_cast<std::uintptr_t>(blocks[side])}, 0));
            }
            if (arrays[0] != nullptr && arrays[1] != nullptr) return true;
        } else {
            std::uint64_t addresses[2];
            by_two_lanes(addresses, [&](unsigned side) {
                return reinterpret_cast<std::uintptr_t>(
                    allocator_.allocate(context_, side == 0 ? bytes[0] : bytes[1]));
            });
            arrays[0] = reinterpret_cast<Reference*>(addresses[0]);
            arrays[1] = reinterpret_cast<Reference*>(addresses[1]);
            if (arrays[0] != nullptr && arrays[1] != nullptr) return true;
        }
        warp_.sync();  // what the other lane's allocation wrote, before it is freed from here
        if (leader()) {
            const bool first_failed = arrays[0] == nullptr;
            output_.record_failure(Status::pool_exhausted, kJoint         ? bytes[0] + bytes[1]
                                                           : first_failed ? bytes[0]
                                                                          : bytes[1]);
            if constexpr (!kJoint) {  // a joint request has failed as a whole
                free_one(allocator_, context_, first_failed ? arrays[1] : arrays[0],
                         first_failed ? bytes[1] : bytes[0]);
            }
        }
        aborted_ = true;
        return false;
    }

    /// The warp's own references (BuildConfig::small_arrays). The nodes on the stack whose arrays
    /// are there have them in the stack's order; whatever is beyond that of the newest is free.
    HEAPWOOD_INLINE Reference* arena() const {
        return problem_.arenas + static_cast<std::size_t>(context_.warp) * kArenaSize;
    }
    HEAPWOOD_INLINE bool has_arena() const {
        return kArrays == Arrays::large ||
               (kArrays == Arrays::either && problem_.arenas != nullptr);
    }
    HEAPWOOD_INLINE bool is_near(const Reference* p) const {
        return has_arena() && p >= arena() && p < arena() + kArenaSize;
    }

    /// Takes arrays for the children of a piece from the arena if they are small and there is room.
    HEAPWOOD_INLINE bool place_near(const Piece& piece, Reference* (&arrays)[2]) {
        const Split& split = piece.split;
        if (!has_arena() || piece.count > problem_.large_limit ||
            split.left > problem_.exact_limit || split.right > problem_.exact_limit ||
            arena_used_ + split.left + split.right > kArenaSize) {
            return false;
        }
        // The one that is gone on with first lies beyond the other.
        Reference* place = arena() + arena_used_;
        arrays[0] = goes_first(split) == 0 ? place + split.right : place;
        arrays[1] = goes_first(split) == 0 ? place : place + split.left;
        arena_used_ += split.left + split.right;
        return true;
    }

    /// Collective: moves a piece's references from the arena into an array from the allocator, so
    /// that another warp can take it. False: there is no memory for that, and nothing is changed.
    HEAPWOOD_FN bool move_out(Piece& piece) {
        void* p = leader() ? allocate_one(allocator_, context_, bytes_of(piece.count)) : nullptr;
        auto* array = reinterpret_cast<Reference*>(
            warp_.shuffle(std::uint64_t{reinterpret_cast<std::uintptr_t>(p)}, 0));
        if (array == nullptr) return false;
        warp_.sync();  // what lane 0's allocation acquired, to all lanes
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = warp_.lane(); i < piece.count; i += W::width) {
            store_wide(array + i, load_wide(piece.references + i));
        }
        piece.references = array;
        return true;
    }

    /// Out of line, for they are rare. Static, for a call with `this` would force the whole worker
    /// from registers into memory.
    HEAPWOOD_NOINLINE static void* allocate_one(const AllocatorRef& allocator,
                                                allocators::Context context, std::uint64_t bytes) {
        return allocator.allocate(context, bytes);
    }
    HEAPWOOD_NOINLINE static void free_one(const AllocatorRef& allocator,
                                           allocators::Context context, Reference* p,
                                           std::uint64_t bytes) {
        allocator.deallocate(context, p, bytes);
    }

    /// Collective: results[i] = f(i) for i = 0 and 1, in every lane. On a GPU two lanes call f at
    /// the same time, so that two slow operations take the time of one.
    template <class F>
    HEAPWOOD_INLINE void by_two_lanes(std::uint64_t (&results)[2], F f) const {
        if constexpr (W::width == 1) {
            results[0] = f(0);
            results[1] = f(1);
        } else {
            const std::uint64_t mine = warp_.lane() < 2 ? f(warp_.lane()) : 0;
            results[0] = warp_.shuffle(mine, 0);
            results[1] = warp_.shuffle(mine, 1);
        }
    }

    /// Collective, after a sync: frees the array of a piece, and those of children that are leaves.
    HEAPWOOD_FN void release(const Piece& piece, const Division& division) {
        if constexpr (kFrees) {
            clock_.enter(Phase::free);
            for (unsigned i = warp_.lane(); i < 3; i += W::width) {
                Reference* p = division.whole ? nullptr : piece.references;
                std::uint32_t count = piece.count;
                if (i < 2) {
                    p = (division.leaves >> i & 1U) == 0 ? nullptr
                        : i == 0                         ? division.arrays[0]
                                                         : division.arrays[1];
                    count = i == 0 ? piece.split.left : piece.split.right;
                }
                if (p != nullptr && !is_near(p)) {
                    allocator_.deallocate(context_, p, bytes_of(count));
                }
            }
            warp_.sync();
            clock_.enter(Phase::other);
        }
    }

    // ---------------------------------------------------------------- nodes and leaves

    HEAPWOOD_FN void write_leaf(const Piece& piece) {
        const std::uint64_t first = output_.reserve_references(piece.count);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = warp_.lane(); i < piece.count; i += W::width) {
            output_.write_reference(first + i, piece.references[i].primitive);
        }
        if (leader()) {
            output_.write_node(piece.node,
                               Node::leaf(static_cast<std::uint32_t>(first), piece.count));
        }
    }

    /// Cuts empty space off a piece: writes the inner node and its empty leaf, and makes the
    /// piece the other child. The references stay where they are.
    HEAPWOOD_INLINE void cut_empty(Piece& piece, const Split& split) {
        const std::uint32_t child = output_.reserve_pair();
        const bool left_empty = split.left == 0;
        if (leader()) {
            output_.write_node(piece.node, Node::inner(split.axis, split.position, child));
            output_.write_node(left_empty ? child : child + 1, Node::leaf(0, 0));
        }
        piece.node = left_empty ? child + 1 : child;
        piece.cell = part_of(piece.cell, split, left_empty ? 1 : 0);
        ++piece.depth;
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

    // ---------------------------------------------------------------- pieces of any size

    /// Makes a leaf of a piece, or makes ready to divide it, or makes it a job. It may cut off
    /// empty space first.
    HEAPWOOD_FN void prepare_piece(Task& task, Division& division) {
        Piece& piece = task.piece;
        if (aborted_) return;
        warp_.sync();  // the scratch memory's previous use is over in all lanes
        if (piece.count > problem_.exact_limit) {
            until_share_ = 1;
            // Only a build that has failed leaves such a piece without a decision: it has no split
            // to divide it by.
            if (piece.split.axis == Split::kUndecided) {
                aborted_ = true;
                return;
            }
        } else {
            clock_.enter(Phase::search);
            find_exact_split(piece);
            clock_.enter(Phase::other);
        }
        const Split& split = piece.split;
        if (split.axis == Split::kMakeLeaf) {
            write_leaf(piece);
            return;
        }
        if (!place_near(piece, division.arrays) && !allocate_children(split, division.arrays)) {
            return;
        }
        clock_.enter(Phase::other);
        division.end = piece.count;
        division.node = output_.reserve_pair();
        if (leader()) {
            output_.write_node(piece.node, Node::inner(split.axis, split.position, division.node));
        }
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
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
        warp_.sync();
        division.to_do = 3U & ~division.leaves;
        if (piece.count > problem_.large_limit) task.job = make_job(piece, division);
    }

    /// The child with more references: on the longest way to a leaf nobody should wait.
    HEAPWOOD_INLINE static unsigned goes_first(const Split& split) {
        return split.left > split.right ? 0 : 1;
    }

    /// Schedules the children of a node that has been divided, whose bins, if they are above the
    /// exact limit, are in the scratch memory. This warp goes on with one of them.
    HEAPWOOD_FN void schedule_children(const Piece& piece, const Division& division) {
        const unsigned first = goes_first(piece.split);
        std::uint32_t place = top_ + (division.to_do == 3 ? 1 : 0);
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
            if (child.count > problem_.exact_limit && !aborted_) {
                clock_.enter(Phase::decide);
                decide(child, scratch_.bins[side], scratch_.frames[side]);
                clock_.enter(Phase::other);
            }
            if (leader()) stack_[place] = {nullptr, child};
            --place;
        }
        top_ += platform::popcount(division.to_do);
        warp_.sync();
    }

    /// Chooses the split of a piece above the exact limit from its bins; empty space is cut off at
    /// once.
    HEAPWOOD_FN void decide(Piece& piece, const Bins& bins, const BinFrame& frame) {
        while (!problem_.must_be_leaf(piece.count, piece.depth, piece.cell)) {
            piece.tight = problem_.tight_cuts ? bins.tight() : piece.cell;
            Choice choice = split_binned(warp_, bins, frame, problem_.grid, piece.cell, piece.tight,
                                         piece.count, problem_.model);
            const bool parts = choice.split.left > 0 && choice.split.right > 0;
            if (parts && piece.count <= problem_.snap_limit) {
                snap(warp_, problem_.model, piece.cell, piece.references, piece.count, choice);
            }
            if (!problem_.accept(piece, choice) || parts) return;
            cut_empty(piece, piece.split);
        }
        piece.split.axis = Split::kMakeLeaf;
    }

    /// Divides references among the children's arrays; counts those of children above the exact
    /// limit in the scratch memory's bins, and writes out those of leaves.
    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void partition(const Piece& piece, const Division& division) {
        if constexpr (W::width == 1) return partition_serially(piece, division);
        const Split split = piece.split;
        const bool bin[2] = {split.left > problem_.exact_limit, split.right > problem_.exact_limit};
        const std::uint32_t lower_lanes = (1U << warp_.lane()) - 1U;
        std::uint32_t used[2] = {division.used[0], division.used[1]};
        GrowingBox around[2];
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t base = division.begin; base < division.end; base += W::width) {
            const std::uint32_t i = base + warp_.lane();
            const bool here = i < division.end;
            Reference below{};
            bool to[2] = {false, false};
            if (here) {
                below = load_wide(piece.references + i);
                const float lo = component(below.lo, split.axis);
                const float hi = component(below.hi, split.axis);
                to[0] = goes_left(lo, hi, split.position, split.side);
                to[1] = goes_right(lo, hi, split.position, split.side);
            }
            Reference above = below;
            if (to[0] && to[1])
                cut(problem_.triangles, problem_.clip, split.axis, split.position, below, above);
            HEAPWOOD_UNROLL_ALL
            for (unsigned side = 0; side < 2; ++side) {
                const Reference& part = side == 0 ? below : above;
                const std::uint32_t lanes = warp_.ballot(to[side]);
                if (to[side]) {
                    const std::uint32_t k = used[side] + platform::popcount(lanes & lower_lanes);
                    store_wide(division.arrays[side] + k, part);
                    if ((division.leaves >> side & 1U) != 0) {
                        output_.write_reference(division.leaf_references[side] + k, part.primitive);
                    }
                    if (bin[side]) around[side].add(part.lo, part.hi);
                }
                used[side] += platform::popcount(lanes);
            }
            // Lanes count for one child each, then those that cut a reference for the other.
            HEAPWOOD_UNROLL(1)
            for (unsigned round = 0; round < 2 && (bin[0] || bin[1]); ++round) {
                const unsigned side = round == 0 && to[0] ? 0 : 1;
                if (!(side == 0 ? bin[0] : bin[1]) || !(round == 0 ? here : to[0] && to[1])) {
                    continue;
                }
                const Reference& part = round == 0 ? below : above;
                count_in_bins(scratch_.bins[side], scratch_.frames[side], {part.lo, part.hi});
            }
        }
        if (bin[0]) store_box(warp_, scratch_.bins[0], around[0]);
        if (bin[1]) store_box(warp_, scratch_.bins[1], around[1]);
    }

    /// The same for a warp of width 1, in loops of few branches.
    void partition_serially(const Piece& piece, const Division& division) {
        const Split split = piece.split;
        Reference* to[2] = {division.arrays[0] + division.used[0],
                            division.arrays[1] + division.used[1]};
        GrowingBox around[2];
        for (std::uint32_t base = division.begin; base < division.end; base += SerialSides::kMost) {
            const Reference* from = piece.references + base;
            const std::uint32_t rest = division.end - base;
            const SerialSides sides(from, rest < SerialSides::kMost ? rest : SerialSides::kMost,
                                    split);
            Reference* const start[2] = {to[0], to[1]};
            // Triangles lie anywhere in memory: they come while other references are copied.
            for (const unsigned i : sides.both) {
                __builtin_prefetch(problem_.triangles + from[i].primitive);
            }
            for (const unsigned i : sides.left) *to[0]++ = from[i];
            for (const unsigned i : sides.right) *to[1]++ = from[i];
            for (const unsigned i : sides.both) {
                *to[0] = *to[1] = from[i];
                cut(problem_.triangles, problem_.clip, split.axis, split.position, *to[0]++,
                    *to[1]++);
            }
            for (unsigned side = 0; side < 2; ++side) {
                const auto count = static_cast<std::uint32_t>(to[side] - start[side]);
                if ((division.leaves >> side & 1U) != 0) {
                    const std::uint64_t first =
                        division.leaf_references[side] +
                        static_cast<std::uint64_t>(start[side] - division.arrays[side]);
                    for (std::uint32_t i = 0; i < count; ++i) {
                        output_.write_reference(first + i, start[side][i].primitive);
                    }
                }
                if ((side == 0 ? split.left : split.right) > problem_.exact_limit) {
                    SerialBinning(scratch_.bins[side], scratch_.frames[side], around[side])
                        .add(start[side], count);
                }
            }
        }
        for (unsigned side = 0; side < 2; ++side) {
            if ((side == 0 ? split.left : split.right) > problem_.exact_limit) {
                store_box(warp_, scratch_.bins[side], around[side]);
            }
        }
    }

    // ---------------------------------------------------------------- large nodes

    /// How many references of a job a warp takes at a time: few while there are idle warps to take
    /// the others.
    HEAPWOOD_INLINE std::uint32_t chunk_of(std::uint32_t count, std::uint32_t idle) const {
        const std::uint32_t even =
            platform::round_up<std::uint32_t>(count / (idle + 1) + 1, kSmallestChunk);
        return even < problem_.chunk ? even : problem_.chunk;
    }

    /// Collective: makes a job of a piece that is ready to be divided, and invites idle warps.
    /// nullptr: there is no job to be had, and the piece goes on as a medium one.
    HEAPWOOD_FN Job* make_job(const Piece& piece, const Division& division) {
        std::uint32_t number = 0;
        if (leader()) number = state_.jobs.ref().add_relaxed(1);
        look_around();
        number = warp_.shuffle(number, 0);
        if (number >= problem_.job_capacity) return nullptr;
        Job& job = problem_.jobs[number];
        if (leader()) {
            job.piece = piece;
            job.child_references[0] = division.arrays[0];
            job.child_references[1] = division.arrays[1];
            job.child_node = division.node;
            job.makes_root = false;
            job.frames[0] = scratch_.frames[0];
            job.frames[1] = scratch_.frames[1];
            state_.outstanding.ref().add_relaxed(1);
        }
        prepare(job);
        warp_.sync();
        invite(job, job.chunks);
        return &job;
    }

    /// Zeroes a job's counters and bins.
    HEAPWOOD_FN void prepare(Job& job) {
        if (leader()) {
            job.chunk = chunk_of(job.piece.count, idle_);
            job.chunks = platform::ceil_div(job.piece.count, job.chunk);
            job.next_chunk.value = 0;
            job.invited.value = 0;
            job.used[0].value = 0;
            job.used[1].value = 0;
            job.remaining.value = job.chunks;
        }
        clear_bins(warp_, job.bins[0]);
        clear_bins(warp_, job.bins[1]);
    }

    /// Offers a job to the warps last seen idle, to no more of them in all than it has chunks: an
    /// invitation that comes too late keeps its taker, and all tasks behind it, from real work.
    HEAPWOOD_FN void invite(Job& job, std::uint32_t chunks_left) {
        std::uint32_t wanted = may_give_ < chunks_left - 1 ? may_give_ : chunks_left - 1;
        if (wanted == 0) return;
        may_give_ -= wanted;
        if (leader()) {
            const std::uint32_t before = job.invited.ref().add_relaxed(wanted);
            const std::uint32_t rest = before < job.chunks - 1 ? job.chunks - 1 - before : 0;
            wanted = wanted < rest ? wanted : rest;
        }
        wanted = warp_.shuffle(wanted, 0);
        queue_.give(warp_, Task{&job, Piece{}}, wanted, [](std::uint32_t) {});
    }

    /// Collective: takes a chunk of a job and makes ready to divide it. False: none is left.
    HEAPWOOD_FN bool prepare_chunk(Job& job, Piece& piece, Division& division) {
        clock_.enter(Phase::chunks);
        std::uint32_t chunk = 0;
        if (leader()) chunk = job.next_chunk.ref().add_relaxed(1);
        look_around();
        chunk = warp_.shuffle(chunk, 0);
        if (chunk >= job.chunks) return false;
        // Each helper brings others, so that their number grows by powers; and again at every
        // chunk, for at the first there may have been nobody idle.
        invite(job, job.chunks - chunk);
        const std::uint32_t begin = chunk * job.chunk;
        const std::uint32_t rest = job.piece.count - begin;
        const std::uint32_t end = begin + (rest < job.chunk ? rest : job.chunk);
        if (aborted_) return true;
        if (job.makes_root) {
            make_references(job, begin, end);
            return true;
        }
        piece.references = job.piece.references;
        piece.split = job.piece.split;
        division.begin = begin;
        division.end = end;
        division.arrays[0] = job.child_references[0];
        division.arrays[1] = job.child_references[1];
        reserve_parts(job, division);
        clear_bins(warp_, scratch_.bins[0]);
        clear_bins(warp_, scratch_.bins[1]);
        if (leader()) {
            scratch_.frames[0] = job.frames[0];
            scratch_.frames[1] = job.frames[1];
        }
        warp_.sync();
        return true;
    }

    /// Collective: adds what a chunk has brought to the job. True for the last chunk, whose warp
    /// goes on with the job: `piece` becomes the job's, which has become the warp's own.
    HEAPWOOD_FN bool finish_chunk(Job& job, Piece& piece, Division& division) {
        clock_.enter(Phase::chunks);
        if (division.begin < division.end) {
            if (piece.split.left > problem_.exact_limit)
                add_bins(warp_, job.bins[0], scratch_.bins[0]);
            if (piece.split.right > problem_.exact_limit)
                add_bins(warp_, job.bins[1], scratch_.bins[1]);
        }
        warp_.sync();
        bool last = false;
        // Releases this warp's part of the arrays and bins; the last one acquires all parts.
        if (leader()) last = job.remaining.ref().sub_acq_rel(1) == 1;
        if (!warp_.any(last)) return false;
        complete(job, piece, division);
        return true;
    }

    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void make_references(Job& job, std::uint32_t begin, std::uint32_t end) {
        const bool bin = job.piece.count > problem_.exact_limit;
        clear_bins(warp_, scratch_.bins[0]);
        if (leader()) scratch_.frames[0] = job.frames[0];
        warp_.sync();
        GrowingBox around;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = begin + warp_.lane(); i < end; i += W::width) {
            const Reference r = whole_reference(load_wide(problem_.triangles + i), i);
            store_wide(job.piece.references + i, r);
            if constexpr (W::width > 1) {
                around.add(r.lo, r.hi);
                if (bin) count_in_bins(scratch_.bins[0], scratch_.frames[0], {r.lo, r.hi});
            }
        }
        if constexpr (W::width == 1) {
            SerialBinning(scratch_.bins[0], scratch_.frames[0], around)
                .add(job.piece.references + begin, end - begin);
        }
        store_box(warp_, scratch_.bins[0], around);
        warp_.sync();
        if (bin) add_bins(warp_, job.bins[0], scratch_.bins[0]);
    }

    /// Collective: counts how many of a chunk's references go to either child, and reserves places
    /// for them in the children's arrays.
    HEAPWOOD_FN void reserve_parts(Job& job, Division& division) {
        const Split split = job.piece.split;
        std::uint32_t parts[2] = {0, 0};
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = division.begin + warp_.lane(); i < division.end; i += W::width) {
            const Reference& r = job.piece.references[i];
            const float lo = component(r.lo, split.axis);
            const float hi = component(r.hi, split.axis);
            parts[0] += goes_left(lo, hi, split.position, split.side);
            parts[1] += goes_right(lo, hi, split.position, split.side);
        }
        parts[0] = warp_.sum(parts[0]);
        parts[1] = warp_.sum(parts[1]);
        std::uint64_t start[2];
        by_two_lanes(start, [&](unsigned side) {
            return (side == 0 ? job.used[0] : job.used[1])
                .ref()
                .add_relaxed(side == 0 ? parts[0] : parts[1]);
        });
        division.used[0] = static_cast<std::uint32_t>(start[0]);
        division.used[1] = static_cast<std::uint32_t>(start[1]);
    }

    /// What the last finisher of a job does. The job's credit becomes the warp's.
    HEAPWOOD_FN void complete(const Job& job, Piece& piece, Division& division) {
        warp_.sync();  // what lane 0 acquired from the other warps, to all lanes
        ++credits_;
        until_share_ = 1;
        // A warp that skipped its chunk had seen the failure, and released that with its part.
        look_around();
        piece = job.piece;
        division.whole = job.makes_root;
        division.to_do = job.makes_root ? 1 : 3;
        division.node = job.child_node;
        division.arrays[0] = job.child_references[0];
        division.arrays[1] = job.child_references[1];
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            copy_bins(warp_, scratch_.bins[side], job.bins[side]);
            if (leader()) scratch_.frames[side] = job.frames[side];
        }
        warp_.sync();
    }

    // ---------------------------------------------------------------- small nodes

    /// Chooses the split of a small piece; empty space is cut off at once.
    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void find_exact_split(Piece& piece) {
        for (bool counted = false; !problem_.must_be_leaf(piece.count, piece.depth, piece.cell);
             counted = true) {
            if (!counted) count_planes(piece);
            const Choice choice =
                scratch_.exact.best(warp_, piece.cell, piece.count, problem_.model);
            if (!problem_.accept(piece, choice)) return;
            if (piece.split.left > 0 && piece.split.right > 0) return;
            cut_empty(piece, piece.split);
        }
        piece.split.axis = Split::kMakeLeaf;
    }

    /// Collective: makes the exact search ready for a piece.
    HEAPWOOD_MAY_CALL_HOST
    HEAPWOOD_FN void count_planes(const Piece& piece) {
        HEAPWOOD_UNROLL(1)
        for (unsigned i = warp_.lane(); i < piece.count; i += W::width) {
            const Reference r = load_wide(piece.references + i);
            scratch_.exact.set(i, r.lo, r.hi);
        }
        warp_.sync();
        scratch_.exact.count(warp_, piece.count);
    }

    const W warp_;
    const Problem& problem_;
    const AllocatorRef&
        allocator_;  // where the kernel's parameters are: a copy would cost registers
    const allocators::Context context_;
    Scratch<W>& scratch_;
    BuildState& state_;
    BuildOutput<W> output_;
    PhaseClock<W> clock_;
    const TaskQueue<Task> queue_;
    Task* const stack_;
    std::uint32_t bottom_ = 0;
    std::uint32_t top_ = 0;
    std::uint32_t arena_used_ = 0;  ///< references
    std::uint32_t credits_ = 0;     ///< held by this warp (leader's count is what matters)
    std::uint32_t until_share_ = kSharePeriod;
    std::uint32_t idle_ = 0;      ///< about how many warps waited when this one last looked
    std::uint32_t may_give_ = 0;  ///< tasks it may give before it looks again
    bool aborted_ = false;
};

}  // namespace heapwood::kdtree
