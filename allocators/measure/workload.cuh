/// @file
/// What the callers of a measurement ask of an allocator: the generic tests of Vinkler & Havran
/// 2014 and 2015 (AD, ACD, P), the steps of which the tests of Winter et al. 2021 are made, and the
/// replay of a trace.
///
/// All of them are one body that decides at run time what comes next, and that has one place where
/// it allocates and one where it frees: an allocator is compiled into it once.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/measure/blocks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/clock.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {

/// What every caller does with its `requests` requests.
enum class Work : std::uint32_t {
    allocate,     ///< makes them; the blocks stay
    deallocate,   ///< frees their blocks
    pairs,        ///< AD: makes one and frees its block at once, then the next
    cycle,        ///< ACD: makes all, then frees them all in the same order
    probability,  ///< P: at each step, with a probability, asks for a block, or frees the one it
                  ///< has
    fill,         ///< makes them until one is refused, however many
    replay,       ///< what its script says (ReplayScript): all callers must run at the same time
};

/// A step of a replay is a word: the slot of a block, and what is to be done with it.
struct ReplayStep {
    /// The block is freed; else it is asked for.
    static constexpr std::uint32_t kFree = 1U << 31;
    /// It is asked for, and handed over to another caller; with kFree: that caller waits for it.
    static constexpr std::uint32_t kHanded = 1U << 30;
    static constexpr std::uint32_t kSlot = kHanded - 1;
    /// Behind a caller's last step.
    static constexpr std::uint32_t kEnd = ~0U;
    /// Of a step that is no call: the time at which it is due.
    static constexpr std::uint64_t kAnyTime = ~std::uint64_t{0};
};

/// A workload: what a launch is made from. Pointers point to where it runs.
struct Workload {
    Work work;
    Stamps stamps = Stamps::none;
    /// Callers are the first `lanes` lanes of each warp. A CPU's warp has one lane.
    std::uint32_t lanes = 32;
    bool count = false;  ///< adds requests and frees to `counts`; else failed and corrupt only
    bool stop_at_refusal = false;  ///< fill: all end when one is refused; else each at its own
    std::uint32_t callers = 0;
    std::uint32_t requests = 1;  ///< of each caller; pairs and steps likewise
    std::uint32_t round = 0;     ///< probability: number of the launch, for other dice in each
    float threshold = 0;  ///< probability: a step does nothing unless its die, below 1, is above
    Blocks blocks{};
    Counts* counts = nullptr;
    std::uint64_t* next_slot = nullptr;         ///< fill: how many slots are taken
    std::uint32_t* refused = nullptr;           ///< fill: not 0 after a refusal
    const std::uint32_t* steps = nullptr;       ///< replay: ReplayScript::steps
    const std::uint64_t* first_step = nullptr;  ///< replay: ReplayScript::first
    const std::uint64_t* due = nullptr;         ///< replay: ReplayScript::due; nullptr: no pauses
    /// With `due`, by step: when it began, in nanoseconds from the start. Written for calls only.
    std::uint64_t* begun = nullptr;
    /// With `due`: the moment of the first call, by platform::nanoseconds(); 0 before the launch.
    std::uint64_t* start = nullptr;

    /// Where the block of a caller's request is kept: neighbours' blocks side by side.
    HEAPWOOD_INLINE std::uint64_t slot(std::uint32_t caller, std::uint32_t request) const {
        return std::uint64_t{request} * callers + caller;
    }
};

/// What a caller does next.
struct WorkStep {
    enum Action : std::uint32_t { take, give, receive, nothing, end } action;
    std::uint64_t slot;
    bool handed = false;  ///< take: for another caller, which receives it
};

/// The `step`-th thing that a caller does.
HEAPWOOD_FN inline WorkStep next_step(const Workload& w, std::uint32_t caller, std::uint32_t step) {
    const std::uint32_t n = w.requests;
    switch (w.work) {
        case Work::allocate:
            return {step < n ? WorkStep::take : WorkStep::end, w.slot(caller, step)};
        case Work::deallocate:
            return {step < n ? WorkStep::give : WorkStep::end, w.slot(caller, step)};
        case Work::pairs:
            if (step / 2 >= n) return {WorkStep::end, 0};
            return {step % 2 == 0 ? WorkStep::take : WorkStep::give, caller};
        case Work::cycle:
            if (step < n) return {WorkStep::take, w.slot(caller, step)};
            return {step - n < n ? WorkStep::give : WorkStep::end, w.slot(caller, step - n)};
        case Work::probability: {
            if (step >= n) return {WorkStep::end, 0};
            const std::uint64_t die = mixed(w.blocks.seed + mixed(caller) + w.round * n + step);
            const float fraction = static_cast<float>(die >> 40) * 0x1p-24F;
            if (fraction <= w.threshold) return {WorkStep::nothing, 0};
            return {w.blocks.data[caller] == nullptr ? WorkStep::take : WorkStep::give, caller};
        }
        case Work::fill: {
            // Relaxed will do for both: nothing is published by them but their own values.
            const platform::AtomicRef refused(*w.refused);
            if (refused.load_relaxed() != 0 && w.stop_at_refusal) return {WorkStep::end, 0};
            const std::uint64_t slot = platform::AtomicRef(*w.next_slot).add_relaxed(1);
            return {slot < w.blocks.slots ? WorkStep::take : WorkStep::end, slot};
        }
        case Work::replay: {
            const std::uint32_t word = w.steps[w.first_step[caller] + step];
            if (word == ReplayStep::kEnd) return {WorkStep::end, 0};
            const bool handed = (word & ReplayStep::kHanded) != 0;
            return {(word & ReplayStep::kFree) == 0 ? WorkStep::take
                    : handed                        ? WorkStep::receive
                                                    : WorkStep::give,
                    word & ReplayStep::kSlot, handed};
        }
    }
    return {WorkStep::end, 0};
}

/// What is handed over where a request was refused: no block has this address.
inline constexpr std::uintptr_t kNoBlock = 1;

/// Hands a block over, or nullptr: releases the caller's writes to it to the one that takes it.
HEAPWOOD_FN inline void hand_over(void*& slot, void* block) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    platform::AtomicRef(reinterpret_cast<std::uintptr_t&>(slot))
        .store_release(block == nullptr ? kNoBlock : address);
}

/// Waits for a block that another caller, which must be running, hands over. Acquires what that
/// caller has written to it. Afterwards the slot, with the block or nullptr, is this caller's
/// alone.
HEAPWOOD_FN inline void receive(void*& slot) {
    const platform::AtomicRef address(reinterpret_cast<std::uintptr_t&>(slot));
    std::uintptr_t block = address.load_acquire();
    for (unsigned n = 0; block == 0; ++n) {
        platform::back_off(n);
        block = address.load_acquire();
    }
    if (block == kNoBlock) slot = nullptr;
}

/// Waits until a step of a replay is due, and notes when it begins.
HEAPWOOD_FN inline void await_due(const Workload& w, std::uint64_t step) {
    if (w.due[step] == ReplayStep::kAnyTime) return;
    // Relaxed will do: only the value itself is read.
    const platform::AtomicRef first(*w.start);
    std::uint64_t start = first.load_relaxed();
    if (start == 0) {
        const std::uint64_t now = platform::nanoseconds();
        if (first.cas_relaxed(start, now)) start = now;
    }
    w.begun[step] = platform::wait_until(start + w.due[step]) - start;
}

/// The part of one caller in a workload. Blocks are handed from launch to launch by way of their
/// slots; within a launch no caller touches another's, but for the handed ones of a replay.
template <class Ref>
HEAPWOOD_FN void run_caller(const Ref& ref, const Context& context, const Workload& w,
                            std::uint32_t caller) {
    Counts seen{};
    // The block of a pair never leaves the caller.
    void* held = nullptr;
    for (std::uint32_t step = 0;; ++step) {
        const WorkStep next = next_step(w, caller, step);
        if (w.due != nullptr) await_due(w, w.first_step[caller] + step);
        if (next.action == WorkStep::end) {
            // Of more blocks than the pool has room for some must be the same.
            if (w.work == Work::fill && next.slot >= w.blocks.slots) ++seen.corrupt;
            break;
        }
        if (next.action == WorkStep::take) {
            held = ref.allocate(context, w.blocks.bytes(next.slot));
            ++seen.requests;
            if (held != nullptr) write_stamp(w.blocks, next.slot, held, w.stamps);
            if (next.handed) {
                hand_over(w.blocks.data[next.slot], held);
            } else if (w.work != Work::pairs) {
                w.blocks.data[next.slot] = held;
            }
            if (held != nullptr) continue;
            ++seen.failed;
            if (w.work == Work::fill) {
                platform::AtomicRef(*w.refused).store_relaxed(1);
                break;
            }
        } else if (next.action == WorkStep::give) {
            void* block = w.work == Work::pairs ? held : w.blocks.data[next.slot];
            if (block == nullptr) continue;
            if (!has_stamp(w.blocks, next.slot, block, w.stamps)) ++seen.corrupt;
            ref.deallocate(context, block, w.blocks.bytes(next.slot));
            ++seen.frees;
            if (w.work == Work::probability || w.work == Work::replay) {
                w.blocks.data[next.slot] = nullptr;
            }
        } else if (next.action == WorkStep::receive) {
            receive(w.blocks.data[next.slot]);
        }
    }
    // Failures are rare; in a timed launch nothing else is counted, for it would take as long as
    // the fastest allocations.
    if (w.count) {
        platform::AtomicRef(w.counts->requests).count_relaxed(seen.requests);
        platform::AtomicRef(w.counts->frees).count_relaxed(seen.frees);
    }
    if (seen.failed != 0) platform::AtomicRef(w.counts->failed).count_relaxed(seen.failed);
    if (seen.corrupt != 0) platform::AtomicRef(w.counts->corrupt).count_relaxed(seen.corrupt);
}

}  // namespace heapwood::allocators
