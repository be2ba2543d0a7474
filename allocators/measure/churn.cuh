/// @file
/// A steady state: callers replace the blocks of a live set one by one, and free what others have
/// allocated.
///
/// The live set is a table of slots. A slot's word is the number of a record, which says what block
/// is there. Each caller has a record of its own: it fills that in for a new block, exchanges its
/// number for that of a slot, and so owns the record that was there, with the old block. A record
/// has one owner at any time, a slot or a caller; only the exchanges are atomic.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/measure/blocks.cuh"
#include "allocators/measure/latencies.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/clock.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// A record: the answer to a request.
struct LiveBlock {
    void* block;           ///< nullptr: none, or the request was refused
    std::uint64_t ticket;  ///< the number of the request
    Stamps stamps;         ///< how much of the block is stamped
    std::uint32_t unused;
};

/// The sizes and stamps of requests, by their tickets.
struct Tickets {
    /// How many sizes the table has: quantiles, each as likely as any other.
    static constexpr std::uint32_t kSizes = 1U << 14;

    const std::uint32_t* sizes;  ///< positive multiples of 4
    std::uint64_t seed;

    HEAPWOOD_INLINE std::uint32_t bytes(std::uint64_t ticket) const {
        return sizes[mixed(seed ^ ticket) % kSizes];
    }
    HEAPWOOD_INLINE std::uint32_t stamp(std::uint64_t ticket) const {
        return static_cast<std::uint32_t>(mixed(~ticket ^ seed));
    }
};

/// A launch of callers. Pointers point to where it runs. Before the first launch record i is slot
/// i's, the records behind them are the callers', and all of them are zero.
struct Churn {
    /// Callers are the first `lanes` lanes of each warp. A CPU's warp has one lane.
    std::uint32_t lanes = 32;
    std::uint32_t callers = 0;
    std::uint32_t steps = 0;       ///< of each caller: a request, an exchange, a free
    std::uint64_t first_step = 0;  ///< how many each has made in earlier launches
    bool drain = false;            ///< asks for nothing: leaves empty records (from step 0 on)
    Stamps stamps = Stamps::ends;
    Tickets tickets{};
    std::uint32_t slots = 0;
    std::uint32_t* table = nullptr;   ///< by slot: a record's number
    std::uint32_t* spares = nullptr;  ///< by caller: the number of its own record
    LiveBlock* records = nullptr;     ///< slots + callers
    Counts* counts = nullptr;         ///< all of them are added to
    /// Where the calls that are answered are timed, by platform::ticks(); nullptr: nowhere.
    Latencies* allocations = nullptr;
    Latencies* frees = nullptr;

    HEAPWOOD_INLINE std::uint64_t ticket(std::uint32_t caller, std::uint32_t step) const {
        return (first_step + step) * callers + caller;
    }
    /// The slot of a request: the first ones fill the table, the others may come to any slot.
    HEAPWOOD_INLINE std::uint64_t slot(std::uint64_t ticket) const {
        return ticket < slots ? ticket : mixed(mixed(ticket) + tickets.seed) % slots;
    }
};

/// The part of one caller.
template <class Ref>
HEAPWOOD_FN void churn_caller(const Ref& ref, const Context& context, const Churn& c,
                              std::uint32_t caller) {
    Counts seen{};
    std::uint64_t worst_allocation = 0;
    std::uint64_t worst_free = 0;
    const auto clock = [&](const Latencies* timed) {
        return timed == nullptr ? 0 : platform::ticks();
    };
    const auto note = [&](Latencies* timed, std::uint64_t start, std::uint64_t& worst) {
        if (timed == nullptr) return;
        const std::uint64_t taken = platform::ticks() - start;
        timed->add(taken);
        worst = taken > worst ? taken : worst;
    };
    std::uint32_t own = c.spares[caller];
    for (std::uint32_t step = 0; step < c.steps; ++step) {
        const std::uint64_t ticket = c.ticket(caller, step);
        void* block = nullptr;
        if (!c.drain) {
            const std::uint32_t bytes = c.tickets.bytes(ticket);
            const std::uint64_t start = clock(c.allocations);
            block = ref.allocate(context, bytes);
            ++seen.requests;
            if (block == nullptr) {
                ++seen.failed;
            } else {
                note(c.allocations, start, worst_allocation);
                write_stamp(c.tickets, ticket, block, c.stamps);
            }
        }
        c.records[own] = {block, ticket, c.stamps, 0};
        // Releases the record and the stamps to the caller that takes this number; acquires those
        // of the record whose number was here.
        own = platform::AtomicRef(c.table[c.slot(ticket)]).exchange_acq_rel(own);
        const LiveBlock old = c.records[own];
        if (old.block == nullptr) continue;
        // To free a block of which others have a part could take the process down.
        if (!has_stamp(c.tickets, old.ticket, old.block, old.stamps)) {
            ++seen.corrupt;
            continue;
        }
        const std::uint32_t bytes = c.tickets.bytes(old.ticket);
        const std::uint64_t start = clock(c.frees);
        ref.deallocate(context, old.block, bytes);
        note(c.frees, start, worst_free);
        ++seen.frees;
    }
    c.spares[caller] = own;
    platform::AtomicRef(c.counts->requests).count_relaxed(seen.requests);
    platform::AtomicRef(c.counts->frees).count_relaxed(seen.frees);
    if (seen.failed != 0) platform::AtomicRef(c.counts->failed).count_relaxed(seen.failed);
    if (seen.corrupt != 0) platform::AtomicRef(c.counts->corrupt).count_relaxed(seen.corrupt);
    if (c.allocations != nullptr) c.allocations->note_worst(worst_allocation);
    if (c.frees != nullptr) c.frees->note_worst(worst_free);
}

}  // namespace heapwood::allocators
