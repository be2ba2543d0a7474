/// @file
/// XMalloc's free list: a bounded first-in-first-out queue of numbers, without locks.
///
/// **Structure.** A ring of slots, each {lap, value}: in lap n a slot is {n, 0}, then {n, value},
/// then {n + 1, 0}, and so on. Only a compare-and-swap of the whole slot puts a value in or takes
/// it out, and it succeeds for one thread. Head and tail count what has gone out and in; they are
/// raised after the slot has changed, by whoever did that or by anybody who finds that it has been
/// done (helping), so that nobody waits for a thread that has been stalled in between.
///
/// **There is no ABA** as long as no thread is stalled for 2^32 laps of the ring: a slot's lap
/// never comes again, and so head and tail, of which the low bits tell the slot and the others the
/// lap, never mistake one lap's state for another's. An old value of either, or of a slot, leads to
/// a compare-and-swap that fails, or makes a queue seem full or empty that is so no more.
///
/// **Memory order.** What a thread did before it pushed a number happens before anything that the
/// one does who pops it: a release and an acquire on the slot. Head and tail order nothing.
///
/// **Progress.** A lost compare-and-swap is another's success. After kFifoTries of them a push says
/// that the queue is full, and a pop that it is empty: both callers have another way.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::xmalloc {

/// How often a push or a pop is tried anew.
inline constexpr std::uint32_t kFifoTries = 64;

/// Both ends of a queue, each alone in a sector of the L2 cache; zero at first. In the third there
/// is room for a word of its user's.
struct FifoEnds {
    alignas(32) std::uint64_t head;
    alignas(32) std::uint64_t tail;
    alignas(32) std::uint32_t spare;
};

/// A slot; zero at first.
using FifoSlot = std::uint64_t;

/// The number in a slot, 0: none.
HEAPWOOD_INLINE std::uint32_t value_in(FifoSlot slot) {
    return static_cast<std::uint32_t>(slot);
}

/// A queue of numbers other than 0, in memory that it does not own. Policy::pause() is called
/// where others may come between.
template <class Policy>
class Fifo {
public:
    /// 2^log2_slots slots.
    HEAPWOOD_INLINE Fifo(FifoEnds& ends, FifoSlot* slots, std::uint32_t log2_slots)
        : ends_(ends), slots_(slots), log2_slots_(log2_slots) {}

    /// @return false if the queue is full.
    HEAPWOOD_FN bool push(std::uint32_t value) const {
        const End tail(ends_.tail);
        for (std::uint32_t i = 0; i < kFifoTries; ++i) {
            std::uint64_t at = tail.load_relaxed();
            Policy::pause();
            FifoSlot seen = slot(at).load_relaxed();
            Policy::pause();
            const std::int32_t ahead = laps_ahead(seen, at);
            if (ahead == 0 && value_in(seen) == 0) {
                // Release: what was done before, to whoever pops the value.
                if (slot(at).cas_release(seen, make_slot(lap(at), value))) {
                    Policy::pause();
                    tail.cas_relaxed(at, at + 1);
                    return true;
                }
            } else if (ahead >= 0) {
                tail.cas_relaxed(at, at + 1);  // it has been filled in this lap
            } else {
                return false;
            }
        }
        return false;
    }

    /// @return a number, or 0 if the queue is empty.
    HEAPWOOD_FN std::uint32_t pop() const {
        const End head(ends_.head);
        for (std::uint32_t i = 0; i < kFifoTries; ++i) {
            std::uint64_t at = head.load_relaxed();
            Policy::pause();
            FifoSlot seen = slot(at).load_relaxed();
            Policy::pause();
            const std::int32_t ahead = laps_ahead(seen, at);
            if (ahead == 0 && value_in(seen) != 0) {
                // Acquire: what was done before the value was pushed.
                if (slot(at).cas_acquire(seen, make_slot(lap(at) + 1, 0))) {
                    Policy::pause();
                    head.cas_relaxed(at, at + 1);
                    return value_in(seen);
                }
            } else if (ahead > 0) {
                head.cas_relaxed(at, at + 1);  // it has been emptied in this lap
            } else {
                return 0;
            }
        }
        return 0;
    }

private:
    using End = platform::AtomicRef<std::uint64_t>;

    HEAPWOOD_INLINE static FifoSlot make_slot(std::uint32_t lap, std::uint32_t value) {
        return FifoSlot{lap} << 32 | value;
    }
    HEAPWOOD_INLINE std::uint32_t lap(std::uint64_t at) const {
        return static_cast<std::uint32_t>(at >> log2_slots_);
    }
    /// How many laps a slot is ahead of an end; below 0: behind, as a full queue's next slot is.
    HEAPWOOD_INLINE std::int32_t laps_ahead(FifoSlot slot, std::uint64_t at) const {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(slot >> 32) - lap(at));
    }
    HEAPWOOD_INLINE platform::AtomicRef<FifoSlot> slot(std::uint64_t at) const {
        return platform::AtomicRef<FifoSlot>(slots_[at & ((1U << log2_slots_) - 1)]);
    }

    FifoEnds& ends_;
    FifoSlot* slots_;
    std::uint32_t log2_slots_;
};

}  // namespace heapwood::allocators::xmalloc
