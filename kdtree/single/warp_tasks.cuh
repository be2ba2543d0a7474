/// @file
/// One warp's pieces of work in the second stage: those that the first stage has put in a list, its
/// own on a stack, and those that it gives to idle warps or is given when it idles; and when the
/// build is done, or has failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/platform/warp.cuh"
#include "kdtree/build_result.h"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/work_list.cuh"

namespace heapwood::kdtree {

/// A warp keeps the children of its nodes on the stack, and gives the oldest away when others idle:
/// these are mostly the largest. It takes the list's pieces one by one, while the first stage may
/// still lengthen it, and idles when that has ended and the list has no more.
template <platform::Warp W>
class WarpTasks {
public:
    /// Refers to the problem. `warp_number`: whose stack it is.
    HEAPWOOD_FN WarpTasks(const W& warp, const Problem& problem, std::uint32_t warp_number)
        : warp_(warp),
          problem_(problem),
          state_(*problem.state),
          queue_(problem.slots, problem.slot_bits, &problem.state->queue_head,
                 &problem.state->queue_tail),
          list_(warp, problem.piece_list, problem.state->pieces, problem.warps),
          stack_(problem.stacks + static_cast<std::size_t>(warp_number) * kStackSize) {}

    /// Collective: puts a piece in the list, in the first stage.
    HEAPWOOD_FN void enlist(const Piece& piece) const {
        std::uint32_t place = 0;
        if (leader()) {
            place = list_.take_places(1);
            problem_.pieces[place] = piece;
            state_.outstanding.ref().count_relaxed(1);
        }
        list_.enter(place, 1, [&](std::uint32_t) { return list_.kNothing + 1 + place; });
    }
    /// Collective: the list is whole, and this warp has the credit of the first stage.
    HEAPWOOD_FN void end_list() {
        ++credits_;
        list_.end();
    }

    /// Whether this warp knows that the build has failed: from then on it only frees what it meets.
    HEAPWOOD_INLINE bool failed() const { return failed_; }
    HEAPWOOD_INLINE void fail() { failed_ = true; }

    /// Collective: puts a piece on the stack, where all lanes see it after a sync.
    HEAPWOOD_INLINE void push(const Piece& piece) {
        if (leader()) store_wide(stack_ + top_, piece);
        ++top_;
    }

    /// Takes the newest piece from the stack; false if it is empty.
    HEAPWOOD_INLINE bool pop(Piece& piece) {
        if (top_ == bottom_) return false;
        piece = load_wide(stack_ + --top_);
        return true;
    }

    /// Collective, when the stack is empty: waits for the list's next piece, the oldest, for it is
    /// its memory that allocators can use again soonest. False: no more will come.
    HEAPWOOD_FN bool take_listed(Piece& piece) {
        if (list_ended_) return false;
        top_ = bottom_ = 0;
        const std::uint64_t word = list_.take([](std::uint64_t) { return 0U; });
        list_ended_ = list_.is_end(word);
        if (list_ended_) {
            look_around();
            return false;
        }
        piece = load_wide(problem_.pieces + (word - list_.kNothing - 1));
        ++credits_;
        // The first stage decides on a piece of this size, unless the build has failed.
        failed_ = failed_ ||
                  (piece.count > problem_.exact_limit && piece.split.axis == Split::kUndecided);
        return true;
    }

    /// Collective, when the stack is empty: gives back the credits for what this warp has done, and
    /// waits for a piece that another warp gives. False: the build is done.
    HEAPWOOD_FN bool wait_for(Piece& piece) {
        top_ = bottom_ = 0;
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
            if (warp_.any(done)) {
                // What all warps have left for the third stage.
                if (leader()) state_.done.ref().load_acquire();
                warp_.sync();
                return false;
            }
            W::back_off(n < kLongestNap ? n : kLongestNap);
        }
        warp_.sync();
        piece = queue_.task_of(ticket);
        warp_.sync();
        if (leader()) queue_.release(ticket);
        credits_ = 1;
        return true;
    }

    /// The next call of `share` looks whether others idle.
    HEAPWOOD_INLINE void share_soon() { until_share_ = 1; }

    /// Collective: now and then, gives this warp's oldest pieces to idle warps, but not the `kept`
    /// newest, and looks whether the build has failed. `move_out(piece)` makes a piece fit for
    /// another warp, or returns false.
    template <class MoveOut>
    HEAPWOOD_FN void share(std::uint32_t kept, MoveOut move_out) {
        if (--until_share_ > 0) return;
        look_around();
        until_share_ = may_give_ > 0 ? 1 : kSharePeriod;
        // What this warp still has is only to be freed, and may be without a decision.
        if (failed_) return;
        for (; may_give_ > 0 && top_ - bottom_ > kept; --may_give_, ++bottom_) {
            Piece piece = stack_[bottom_];
            if (!move_out(piece)) return;
            queue_.give(warp_, piece, [&] { state_.outstanding.ref().add_relaxed(1); });
        }
    }

private:
    /// Collective: updates what this warp knows of the others: to how many idle ones it may give,
    /// and whether the build has failed.
    HEAPWOOD_FN void look_around() {
        bool failed = false;
        std::uint32_t idle = 0;
        if (leader()) {
            idle = queue_.waiting();
            failed = ends_build(static_cast<Status>(state_.status.ref().load_relaxed()));
        }
        failed_ = warp_.any(failed);
        idle = warp_.shuffle(idle, 0);
        may_give_ = idle < TaskQueue<Piece>::kMostGiven ? idle : TaskQueue<Piece>::kMostGiven;
    }

    /// A warp that has seen nobody idle looks again after this many small nodes, or one larger.
    static constexpr std::uint32_t kSharePeriod = 4;
    /// An idle warp's pauses grow no more after so many: a piece may come at any time.
    static constexpr unsigned kLongestNap = 2;

    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }

    const W warp_;
    const Problem& problem_;
    BuildState& state_;
    const TaskQueue<Piece> queue_;
    const WorkList<W> list_;
    Piece* const stack_;
    bool list_ended_ = false;  ///< for this warp
    std::uint32_t bottom_ = 0;
    std::uint32_t top_ = 0;
    std::uint32_t credits_ = 0;  ///< held by this warp (leader's count is what matters)
    std::uint32_t until_share_ = kSharePeriod;
    std::uint32_t may_give_ = 0;  ///< pieces it may give before it looks again
    bool failed_ = false;
};

}  // namespace heapwood::kdtree
