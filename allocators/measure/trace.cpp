#include "allocators/measure/trace.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/measure/workload.cuh"

namespace heapwood::allocators {

TraceFacts facts(const Trace& trace) {
    TraceFacts f;
    std::vector<std::uint64_t> sizes;
    std::uint64_t live = 0;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const TraceEvent& event = trace.events[i];
        if (event.bytes == 0) {
            ++f.frees;
            live -= sizes[event.block];
            continue;
        }
        ++f.requests;
        sizes.push_back(event.bytes);
        f.bytes += event.bytes;
        live += event.bytes;
        if (event.bytes > f.largest) f.largest = event.bytes;
        if (live > f.peak_bytes) {
            f.peak_bytes = live;
            f.peak_events = i + 1;
        }
    }
    if (!trace.times.empty()) f.nanoseconds = trace.times.back();
    return f;
}

namespace {

/// What was freed as one of a request's memory, or never freed.
struct Part {
    std::size_t request;  ///< its record
    std::uint64_t address;
    std::uint64_t bytes;

    auto place() const { return std::pair(request, address); }
};

/// The parts of all requests, by request and address. `requests` gets each free's request.
std::vector<Part> parts_of(const std::vector<TraceRecord>& records,
                           std::vector<std::size_t>& requests) {
    struct Piece {
        std::uint64_t end;
        std::size_t request;
    };
    std::map<std::uint64_t, Piece> live;  // by address
    std::vector<Part> parts;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::uint64_t begin = records[i].address;
        const std::uint64_t end = begin + records[i].bytes;
        auto next = live.upper_bound(begin);
        const auto near = next == live.begin() ? live.end() : std::prev(next);
        if (records[i].free == 0) {
            if ((near != live.end() && near->second.end > begin) ||
                (next != live.end() && next->first < end)) {
                throw std::runtime_error("a block was given out again while it was in use");
            }
            live.emplace(begin, Piece{end, i});
            continue;
        }
        if (near == live.end() || near->second.end < end) {
            throw std::runtime_error("a free of " + std::to_string(records[i].bytes) +
                                     " bytes is that of no block in use");
        }
        const Piece piece = near->second;
        requests[i] = piece.request;
        parts.push_back({piece.request, begin, end - begin});
        if (near->first == begin) {
            live.erase(near);
        } else {
            near->second.end = begin;
        }
        if (end < piece.end) live.emplace(end, piece);
    }
    for (const auto& [begin, piece] : live) {
        parts.push_back({piece.request, begin, piece.end - begin});
    }
    std::ranges::sort(parts, {}, &Part::place);
    return parts;
}

}  // namespace

Trace trace_of(const std::vector<TraceRecord>& records) {
    std::uint64_t requested = 0;
    for (const TraceRecord& record : records) {
        if (record.bytes == 0 || record.bytes % 4 != 0 || record.bytes > kMostTraceBytes) {
            throw std::runtime_error("a call of " + std::to_string(record.bytes) +
                                     " bytes: a trace has multiples of 4, above 0, up to 2^56");
        }
        if (record.free == 0 && record.bytes > kMostTraceBytes - requested) {
            throw std::runtime_error("requests of more than 2^56 bytes together");
        }
        if (record.free == 0) requested += record.bytes;
    }
    std::vector<std::size_t> requests(records.size());
    const std::vector<Part> parts = parts_of(records, requests);
    if (parts.size() > kMostTraceRequests) {
        throw std::runtime_error("more requests than a trace can have: 2^30 - 1");
    }
    Trace trace;
    trace.events.reserve(records.size());
    std::uint32_t next = 0;  // part, in the order of the requests
    for (std::size_t i = 0; i < records.size(); ++i) {
        const TraceRecord& record = records[i];
        trace.callers = std::max(trace.callers, record.caller + 1);
        if (record.free != 0) {
            const std::pair place(requests[i], record.address);
            const auto part = std::ranges::lower_bound(parts, place, {}, &Part::place);
            const auto block = static_cast<std::uint32_t>(part - parts.begin());
            trace.events.push_back({record.caller, block, 0});
            continue;
        }
        for (; next < parts.size() && parts[next].request == i; ++next) {
            trace.events.push_back({record.caller, next, parts[next].bytes});
        }
    }
    return trace;
}

ReplayScript script_of(const Trace& trace, std::uint32_t callers, bool frees, std::size_t events,
                       double pace) {
    struct Block {
        std::uint32_t caller;  ///< that asks for it
        std::uint32_t slot;    ///< among those of its caller
        std::uint32_t freer;   ///< the caller, if nobody frees it

        bool handed() const { return freer != caller; }
    };
    std::vector<Block> blocks;
    std::vector<std::uint64_t> requests(callers);
    std::vector<std::uint64_t> steps(callers, 1);  // each with the step that is the end
    for (std::size_t i = 0; i < events; ++i) {
        const TraceEvent& event = trace.events[i];
        const std::uint32_t caller = event.caller % callers;
        if (event.bytes != 0) {
            blocks.push_back({caller, static_cast<std::uint32_t>(requests[caller]++), caller});
            ++steps[caller];
        } else if (frees) {
            blocks[event.block].freer = caller;
            steps[caller] += blocks[event.block].handed() ? 2 : 1;
        }
    }
    ReplayScript script;
    script.callers = callers;
    std::vector<std::uint64_t> first_slot(callers);
    std::uint64_t step_count = 0;
    std::uint64_t slot_count = 0;
    for (std::uint32_t caller = 0; caller < callers; ++caller) {
        script.first.push_back(step_count);
        step_count += steps[caller];
        first_slot[caller] = slot_count;
        slot_count += requests[caller];
    }
    script.steps.assign(step_count, ReplayStep::kEnd);
    if (pace > 0) script.due.assign(step_count, ReplayStep::kAnyTime);
    script.sizes.resize(slot_count);
    std::vector<std::uint64_t> next = script.first;
    constexpr double kMostDue = 0x1p62;  // so that the start of a replay can be added
    for (std::size_t i = 0, request = 0; i < events; ++i) {
        const TraceEvent& event = trace.events[i];
        const bool free = event.bytes == 0;
        if (free && !frees) continue;
        const Block& block = blocks[free ? event.block : request++];
        const std::uint32_t caller = event.caller % callers;
        const auto slot = static_cast<std::uint32_t>(first_slot[block.caller] + block.slot);
        if (pace > 0) {
            const double due = std::ceil(static_cast<double>(trace.times[i]) / pace);
            script.due[next[caller]] = static_cast<std::uint64_t>(std::min(due, kMostDue));
        }
        if (free) {
            script.steps[next[block.freer]++] = slot | ReplayStep::kFree;
            continue;
        }
        script.sizes[slot] = event.bytes;
        script.steps[next[block.caller]++] = slot | (block.handed() ? ReplayStep::kHanded : 0U);
        if (block.handed()) {
            script.steps[next[block.freer]++] = slot | ReplayStep::kHanded | ReplayStep::kFree;
        }
    }
    return script;
}

}  // namespace heapwood::allocators
