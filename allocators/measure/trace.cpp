#include "allocators/measure/trace.h"

#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "allocators/measure/workload.cuh"

namespace heapwood::allocators {

TraceFacts facts(const Trace& trace) {
    TraceFacts f;
    std::vector<std::uint32_t> sizes;
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
    return f;
}

Trace trace_of(const std::vector<TraceRecord>& records) {
    struct Live {
        std::uint32_t block;
        std::uint64_t bytes;
    };
    Trace trace;
    trace.events.reserve(records.size());
    std::unordered_map<std::uint64_t, Live> live;
    std::uint64_t requests = 0;
    for (const TraceRecord& record : records) {
        if (record.caller >= trace.callers) trace.callers = record.caller + 1;
        if (record.free != 0) {
            const auto found = live.find(record.address);
            if (found == live.end() || found->second.bytes != record.bytes) {
                throw std::runtime_error("a free of " + std::to_string(record.bytes) +
                                         " bytes is that of no block in use");
            }
            trace.events.push_back({record.caller, found->second.block, 0});
            live.erase(found);
            continue;
        }
        if (record.bytes > std::numeric_limits<std::uint32_t>::max() || record.bytes % 4 != 0) {
            throw std::runtime_error("a request of " + std::to_string(record.bytes) +
                                     " bytes: a trace has multiples of 4, below 2^32");
        }
        if (requests == kMostTraceRequests) {
            throw std::runtime_error("more requests than a trace can have: 2^30 - 1");
        }
        const auto block = static_cast<std::uint32_t>(requests++);
        if (!live.emplace(record.address, Live{block, record.bytes}).second) {
            throw std::runtime_error("a block was given out again while it was in use");
        }
        trace.events.push_back({record.caller, block, static_cast<std::uint32_t>(record.bytes)});
    }
    return trace;
}

ReplayScript script_of(const Trace& trace, std::uint32_t callers, bool frees, std::size_t events) {
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
    script.sizes.resize(slot_count);
    std::vector<std::uint64_t> next = script.first;
    for (std::size_t i = 0, request = 0; i < events; ++i) {
        const TraceEvent& event = trace.events[i];
        const bool free = event.bytes == 0;
        if (free && !frees) continue;
        const Block& block = blocks[free ? event.block : request++];
        const auto slot = static_cast<std::uint32_t>(first_slot[block.caller] + block.slot);
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
