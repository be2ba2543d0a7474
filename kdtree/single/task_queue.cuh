/// @file
/// Hands tasks from warps that have too many to warps that have none.
///
/// Two counters number the tickets: an idle warp takes the next ticket of `head` and waits at its
/// slot; a warp with work to give sees that warps wait (head - tail), takes a ticket of `tail`, and
/// fills its slot. Nobody scans, and each waiting warp polls an address of its own. Tasks that wait
/// for a warp are those that several givers, which looked at the same time, meant for the same idle
/// warps. A giver gives at most kMostGiven tasks before it looks again, and a giver that looks
/// while tasks wait sees no idle warp: so at most kMostGiven tasks wait for each warp, and with
/// kMostGiven + 1 slots for each the queue cannot overflow.
///
/// Memory order: whatever a giver wrote before `give` happens before what the taker does after
/// `poll` returned true; the slot's sequence number is released by the one and acquired by the
/// other. The sequence of the slot of ticket t is 2 * (t / slots) while it is free for t, one more
/// when filled; the taker's release of what is free for the slot's next ticket, after it has copied
/// the task, is acquired by the giver of the slot's next ticket.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::kdtree {

/// A counter on cache lines of its own: neighbours under contention would share their fate.
struct alignas(128) Counter {
    std::uint32_t value;

    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> ref() {
        return platform::AtomicRef<std::uint32_t>(value);
    }
};

/// A slot of the queue, for one task.
template <class Task>
struct alignas(128) TaskSlot {
    std::uint32_t sequence;
    Task task;
};

/// The shared state: all zero at the start. `slot_bits`: log2 of the number of slots, which is at
/// least kMostGiven + 1 times the number of warps.
template <class Task>
class TaskQueue {
public:
    /// Most tasks that a warp may give before it looks again whether others wait.
    static constexpr std::uint32_t kMostGiven = 32;

    HEAPWOOD_FN TaskQueue(TaskSlot<Task>* slots, std::uint32_t slot_bits, Counter* head,
                          Counter* tail)
        : slots_(slots), slot_bits_(slot_bits), head_(head), tail_(tail) {}

    /// About how many warps wait. May be called by any lane.
    HEAPWOOD_INLINE std::uint32_t waiting() const {
        // The head first: a head that is newer than the tail would count warps that have been
        // given a task in between.
        const std::uint32_t head = head_->ref().load_relaxed();
        const auto difference = static_cast<std::int32_t>(head - tail_->ref().load_relaxed());
        return difference > 0 ? static_cast<std::uint32_t>(difference) : 0;
    }

    /// Collective: gives `task`, the same in every lane, to a warp that the caller has seen
    /// waiting. `account()` is called by one lane, before any warp can start on the task.
    template <class W, class Account>
    HEAPWOOD_FN void give(const W& warp, const Task& task, Account account) const {
        // Orders all lanes' writes of what the task refers to before the release below.
        warp.sync();
        if (warp.lane() != 0) return;
        account();
        // An addition rather than a compare-and-swap, of which only one of thousands of givers
        // would succeed at a time. Several givers may thus see the same waiting warps; what they
        // give too much waits in its slot for the next idle warp.
        const std::uint32_t ticket = tail_->ref().add_relaxed(1);
        TaskSlot<Task>& slot = slot_of(ticket);
        const platform::AtomicRef sequence(slot.sequence);
        // The slot's previous taker is a running warp that is about to finish its copy.
        for (unsigned n = 0; sequence.load_acquire() != free_for(ticket); ++n) W::back_off(n);
        slot.task = task;
        sequence.store_release(free_for(ticket) + 1);
    }

    /// A ticket to wait with. One lane calls it for the warp.
    HEAPWOOD_INLINE std::uint32_t take_ticket() const { return head_->ref().add_relaxed(1); }

    /// Whether the slot of the ticket is filled. One lane calls it; then all, after a sync, may
    /// read `task_of(ticket)`, and one lane calls `release` after another sync.
    ///
    /// It looks with a relaxed load first: on a GPU each acquire empties the multiprocessor's
    /// cache, which would slow down its warps that work.
    HEAPWOOD_INLINE bool poll(std::uint32_t ticket) const {
        const platform::AtomicRef sequence(slot_of(ticket).sequence);
        return sequence.load_relaxed() == free_for(ticket) + 1 &&
               sequence.load_acquire() == free_for(ticket) + 1;
    }
    HEAPWOOD_INLINE const Task& task_of(std::uint32_t ticket) const { return slot_of(ticket).task; }
    HEAPWOOD_INLINE void release(std::uint32_t ticket) const {
        platform::AtomicRef(slot_of(ticket).sequence)
            .store_release(free_for(ticket + (1U << slot_bits_)));
    }

private:
    HEAPWOOD_INLINE TaskSlot<Task>& slot_of(std::uint32_t ticket) const {
        return slots_[ticket & ((1U << slot_bits_) - 1U)];
    }
    HEAPWOOD_INLINE std::uint32_t free_for(std::uint32_t ticket) const {
        return 2U * (ticket >> slot_bits_);
    }

    TaskSlot<Task>* slots_;
    std::uint32_t slot_bits_;
    Counter* head_;
    Counter* tail_;
};

}  // namespace heapwood::kdtree
