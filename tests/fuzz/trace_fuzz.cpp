/// @file
/// Traces, what is made of one that is read, and what a report says of it.
#include <algorithm>

#include "app/measure/bench_report.h"
#include "app/measure/trace_file.h"
#include "app/report/documents.h"
#include "app/report/formats.h"
#include "scenes/scene.h"
#include "tests/fuzz/input_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace heapwood;
    const fuzz::InputFile input(fuzz::text_of(data, size));
    try {
        const app::TraceFile file = app::read_trace(input.path());
        const allocators::TraceFacts facts = allocators::facts(file.trace);
        fuzz::demand(facts.requests != 0, "a trace without a request");
        const std::uint32_t callers = std::min<std::uint32_t>(file.trace.callers, 64);
        const std::size_t events = file.trace.events.size();
        const double pace = facts.nanoseconds ? 0.5 : 0;
        const allocators::ReplayScript script =
            allocators::script_of(file.trace, callers, true, events, pace);
        fuzz::demand(script.sizes.size() == facts.requests, "the slots of a script");
        fuzz::demand(std::is_sorted(file.trace.times.begin(), file.trace.times.end()), "times");
        fuzz::demand(script.due.size() == (pace > 0 ? script.steps.size() : 0), "paced steps");
        app::ReplayReport report;
        report.path = input.path();
        report.header = file.header;
        report.callers = file.trace.callers;
        report.facts = facts;
        report.pace = pace;
        const app::Document document = document_of(report);
        (void)as_text(document, false, true);
        (void)as_json(document);
    } catch (const app::InputError&) {
        // The right answer to what is no trace.
    } catch (const scenes::SceneError&) {
        // Or to what cannot be decompressed.
    }
    return 0;
}
