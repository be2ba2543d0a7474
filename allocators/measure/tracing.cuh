/// @file
/// Tracing: wraps any allocator and, when told to, records every request and every free: who made
/// it, of how many bytes, at which address, and in which order. From these records comes a Trace.
///
/// The order is that of tickets from one counter. A request draws its ticket after the allocator
/// has answered, a free before the allocator hears of it. Tickets of calls of which one happens
/// before the other are in that order, for they are values of one atomic object; so a block's
/// request stands before its free, and the free before the request that gets the same address next.
///
/// Concurrency: one relaxed counter; a ticket's record is its drawer's alone, and is read by the
/// host after the kernel. Without the order to record, a call costs one comparison; a timed run
/// never carries this adaptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/atomicmalloc.cuh"
#include "allocators/measure/adaptor.h"
#include "allocators/measure/counting.cuh"
#include "allocators/measure/trace.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"

namespace heapwood::allocators {

/// An allocator that records. Behaves as A in all else. Requests that are refused, and frees of
/// nullptr, are not recorded.
template <Allocator A>
class Tracing : public Adaptor<A> {
    using Adaptor<A>::inner_;

public:
    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            void* p = inner_.allocate(context, bytes);
            record(context, p, bytes, false);
            return p;
        }
        /// Two requests in the records.
        // clang-format off
        HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                       void* (&blocks)[2]) const
            requires AllocatesPairs<typename A::Ref> {
            // clang-format on
            const bool done = inner_.allocate_pair(context, bytes, blocks);
            record(context, blocks[0], bytes[0], false);
            record(context, blocks[1], bytes[1], false);
            return done;
        }
        HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
            record(context, p, bytes, true);
            inner_.deallocate(context, p, bytes);
        }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            return inner_.granted_bytes(p, bytes);
        }
        HEAPWOOD_FN void flush(const Context& context) const { allocators::flush(inner_, context); }

    private:
        friend class Tracing;

        HEAPWOOD_FN void record(const Context& context, const void* p, std::size_t bytes,
                                bool free) const {
            if (next_ == nullptr || p == nullptr) return;
            const std::uint64_t ticket = platform::AtomicRef(*next_).add_relaxed(1);
            if (ticket >= capacity_) return;
            records_[ticket] = {.address = reinterpret_cast<std::uintptr_t>(p),
                                .bytes = bytes,
                                .caller = context.warp,
                                .free = free};
        }

        typename A::Ref inner_;
        TraceRecord* records_;
        std::uint64_t* next_;  ///< nullptr: nothing is recorded
        std::uint64_t capacity_;
    };

    explicit Tracing(const PoolConfig& config) : Adaptor<A>(config), place_(config.place) {}

    Ref ref() const {
        Ref r;
        r.inner_ = inner_.ref();
        r.records_ = records_.as<TraceRecord>();
        r.next_ = next_.as<std::uint64_t>();
        r.capacity_ = records_.size() / sizeof(TraceRecord);
        return r;
    }
    /// Frees everything and forgets all records; the order to record holds on.
    void reset() {
        inner_.reset();
        if (next_.size() > 0) next_.zero();
    }
    /// From now on, for Refs made after the call, records up to `records` calls.
    /// @throws BufferError if there is no memory for that.
    void record(std::uint64_t records) {
        records_ = Buffer();
        records_ = Buffer(place_, records * sizeof(TraceRecord));
        next_ = Buffer(place_, sizeof(std::uint64_t));
        next_.zero();
    }
    /// How many calls there were to be recorded since the last reset(): if more than record() was
    /// told, the last ones are missing. Only while no kernel runs.
    std::uint64_t recorded() const {
        std::uint64_t next = 0;
        next_.read(0, &next, sizeof(next));
        return next;
    }
    /// What was recorded. Only while no kernel runs, and if no record is missing.
    /// @throws as trace_of().
    Trace trace() const {
        std::vector<TraceRecord> records(recorded());
        records_.read(0, records.data(), records.size() * sizeof(TraceRecord));
        return trace_of(records);
    }

private:
    Place place_;
    Buffer records_;
    Buffer next_;
};

static_assert(Allocator<Tracing<AtomicMalloc>>);

/// What a run that is not timed carries: one kernel for all that is to be found out with it.
template <Allocator A>
using Observed = Counting<Tracing<A>>;

}  // namespace heapwood::allocators
