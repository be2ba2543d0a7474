/// @file
/// What is made of every trace that is read, and of every log, and what a report says of it.
#pragma once

#include <algorithm>
#include <string>

#include "app/inputs/input_lines.h"
#include "app/inputs/trace_file.h"
#include "app/measure/workloads/bench_report.h"
#include "app/report/documents.h"
#include "app/report/renderers/formats.h"
#include "scenes/scene.h"
#include "tests/fuzz/input_file.h"

namespace heapwood::fuzz {

/// Reads the file; demands of what is read that it can be replayed and reported.
inline void demand_sound_recording(const std::string& path) {
    try {
        const app::TraceFile file = app::read_trace(path);
        const allocators::TraceFacts facts = allocators::facts(file.trace);
        demand(facts.requests != 0, "a trace without a request");
        demand(facts.largest <= facts.peak_bytes && facts.peak_bytes <= facts.bytes &&
                   facts.bytes <= allocators::kMostTraceBytes,
               "sums of sizes");
        const std::uint32_t callers = std::min<std::uint32_t>(file.trace.callers, 64);
        const std::size_t events = file.trace.events.size();
        const double pace = facts.nanoseconds ? 0.5 : 0;
        const allocators::ReplayScript script =
            allocators::script_of(file.trace, callers, true, events, pace);
        demand(script.sizes.size() == facts.requests, "the slots of a script");
        demand(std::is_sorted(file.trace.times.begin(), file.trace.times.end()), "times");
        demand(script.due.size() == (pace > 0 ? script.steps.size() : 0), "paced steps");
        app::ReplayReport report;
        report.trace.path = path;
        report.trace.pace = pace;
        report.header = file.header;
        report.callers = file.trace.callers;
        report.facts = facts;
        const app::Document document = document_of(report);
        (void)as_text(document, false, true);
        (void)as_json(document);
    } catch (const app::InputError&) {
        // The right answer to what is no trace.
    } catch (const scenes::SceneError&) {
        // Or to what cannot be decompressed.
    }
}

}  // namespace heapwood::fuzz
