/// @file
/// The requests and frees of a real program, recorded (measure/tracing.cuh), and made into a
/// script by which any allocator can be asked the same (Work::replay).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heapwood::allocators {

/// One call as it was recorded.
struct TraceRecord {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t caller;
    std::uint32_t free;  ///< 0: a request
};

/// One call of a trace.
struct TraceEvent {
    std::uint32_t caller;
    std::uint32_t block;  ///< number of its request: how many requests there are before that
    std::uint64_t bytes;  ///< of a request, a positive multiple of 4; 0: frees the block

    bool operator==(const TraceEvent&) const = default;
};

/// The calls of a program in one order in which they could have been made one after the other: a
/// caller's as it made them, a block's free after its request. Every block is freed once at most,
/// by any caller.
struct Trace {
    std::uint32_t callers = 0;
    std::vector<TraceEvent> events;
    /// By event: nanoseconds since the first one, none less than that before; empty: not recorded.
    std::vector<std::uint64_t> times{};
};

/// What a trace adds up to.
struct TraceFacts {
    std::uint64_t requests = 0;
    std::uint64_t frees = 0;
    std::uint64_t bytes = 0;  ///< of all requests
    std::uint64_t largest = 0;
    std::uint64_t peak_bytes = 0;  ///< most that is asked for and not yet freed
    std::size_t peak_events = 0;   ///< after so many events; the first time
    /// From the first event to the last, if times were recorded.
    std::optional<std::uint64_t> nanoseconds;
};
TraceFacts facts(const Trace& trace);

/// Requests and blocks in numbers of 30 bits (ReplayStep).
inline constexpr std::uint64_t kMostTraceRequests = (std::uint64_t{1} << 30) - 1;
/// Bytes of all requests of a trace together: 64 PiB.
inline constexpr std::uint64_t kMostTraceBytes = std::uint64_t{1} << 56;

/// The trace that records, in their order, amount to: each free is that of the last request
/// answered with its memory. A request whose block is freed in parts is so many requests in the
/// trace, side by side: every allocator can be asked for the parts, not every one takes them back.
/// @throws std::runtime_error if they are none: memory that was given out twice, a free of no
/// block, or of more than a block; or if they are too many, or too large, for a trace.
Trace trace_of(const std::vector<TraceRecord>& records);

/// A trace for so many callers: memory as Work::replay reads it. A caller's blocks have slots side
/// by side, in the order of its requests.
struct ReplayScript {
    std::uint32_t callers = 0;
    std::vector<std::uint32_t> steps;  ///< ReplayStep, caller after caller
    std::vector<std::uint64_t> first;  ///< by caller: its first step
    std::vector<std::uint64_t> sizes;  ///< by slot: bytes of its block
    /// By step: nanoseconds from the start of the replay before which a call does not begin, or
    /// ReplayStep::kAnyTime. Empty: calls follow each other without pauses.
    std::vector<std::uint64_t> due;
};

/// The script of the first `events` events of a trace for `callers` callers, at least 1; without
/// the frees, unless `frees`. With a `pace` above 0 a call is due at its recorded time divided by
/// that, at most 2^62 ns; it takes a trace with times. Callers beyond that number are folded:
/// caller c's calls are made by c modulo `callers`, all that one makes in the order of the trace.
///
/// Whoever frees a block of another waits until that has asked for it, and does so before the first
/// call that follows the request in the trace: there the block was known to be there. So nobody
/// runs far ahead of those whose work it had to wait for when the trace was recorded.
///
/// Still there is no deadlock if all callers run at the same time. Proof: put the steps of all
/// callers in one order: that of the trace, and every wait right behind the request it is for. Each
/// caller's own steps are in this order. Of the steps that are not done take the first. What its
/// caller does before it stands before it, and is done; so the caller has come to it. If it is a
/// wait, its request stands before it, is done, and has been handed over. So this step does not
/// wait but for its time, an allocator's call ends in bounded time, and the step gets done; by
/// induction all do.
/// The proof needs no more than that every caller keeps to the order of the trace, and so holds
/// for folded callers, and for each beginning of it.
ReplayScript script_of(const Trace& trace, std::uint32_t callers, bool frees, std::size_t events,
                       double pace = 0);

}  // namespace heapwood::allocators
