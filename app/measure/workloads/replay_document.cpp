#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/workloads/replay_figures.h"
#include "app/report/documents.h"
#include "app/report/figures/recommendation.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// A text of the trace's header, or no value: strangers may write traces, too.
std::string said(const Json& header, const char* object, const char* field) {
    const Json inner = *object == '\0' ? header : header.value(object, Json::object());
    if (!inner.is_object()) return kNoValue;
    const Json text = inner.value(field, Json());
    const std::string words = text.is_string() ? text.get<std::string>() : "";
    return words.empty() ? kNoValue : words;
}

/// How fast calls follow each other.
std::string pace_text(const ReplayReport& report) {
    if (report.trace.pace <= 0) return "none: calls follow each other without pauses";
    const double ms = static_cast<double>(report.facts.nanoseconds.value_or(0)) * 1e-6;
    const std::string recorded = shown(ms, Unit::ms).text + " ms";
    if (report.trace.pace == 1) return "as recorded: " + recorded;
    return shortest(report.trace.pace) + "x: " + shown(ms / report.trace.pace, Unit::ms).text +
           " ms; recorded were " + recorded;
}

Table trace_table(const ReplayReport& report) {
    const Json header = Json::parse(report.header);
    const allocators::TraceFacts& f = report.facts;
    std::string callers = grouped(report.callers);
    for (const BenchCell& cell : report.turns.cells) {
        const Json replaying = value_of(replay_figures(), "callers", ReplayOf{report, cell});
        if (replaying.is_number() && replaying.get<double>() < report.callers) {
            callers += ", replayed by " + shown(replaying, Unit::count).text;
            break;
        }
    }
    std::string recorded = said(header, "", "recorded");
    if (recorded == kNoValue) {
        recorded =
            "with " + said(header, "", "allocator") + " on " + said(header, "provenance", "device");
    }
    return facts_table("Trace",
                       {{"file", report.trace.path},
                        {"scene", said(header, "scene", "path")},
                        {"recorded", recorded},
                        {"callers", callers},
                        {"calls", grouped(f.requests) + " requests of " + bytes_text(f.bytes) +
                                      " in all, " + grouped(f.frees) + " frees"},
                        {"peak", bytes_text(f.peak_bytes) + " requested and not yet freed"},
                        {"pace", pace_text(report)},
                        {"device", report.turns.provenance.machine.text()},
                        {"pool", bytes_text(report.trace.pool_bytes)}});
}

std::vector<Remark> remarks(const ReplayReport& report) {
    std::vector<Remark> all;
    bool asterisk = false;
    for (const BenchCell& cell : report.turns.cells) {
        const Runner& runner = ReplayOf{report, cell}.runner();
        asterisk = asterisk || !runner.full;
        if (!cell.result.message.empty()) all.push_back({runner.name + ": " + cell.result.message});
    }
    if (asterisk) all.push_back({kAsteriskRemark});
    return all;
}

Plot slowdowns(const ReplayReport& report) {
    Plot plot{.table = "Replay", .title = report.trace.path, .x = "", .y = " ms"};
    for (const BenchCell& cell : report.turns.cells) {
        const ReplayOf one{report, cell};
        const Json ms = value_of(replay_figures(), "ms", one);
        Plot::Line& line = plot.lines.emplace_back(line_of(one.runner().name, one.runner().full));
        if (ms.is_null()) {
            line.word = word(cell.result.outcome);
        } else {
            line.points = {{0, ms.get<double>(), shown(ms, Unit::ms).text + " ms"}};
        }
    }
    return plot;
}

/// Which allocator to take for such requests.
void add_choice(const ReplayReport& report, Document& document) {
    std::vector<Candidate> candidates;
    for (const BenchCell& cell : report.turns.cells) {
        const ReplayOf one{report, cell};
        const Runner& runner = one.runner();
        const Json ms = value_of(replay_figures(), "ms", one);
        const bool sound = runner.backend == nullptr || runner.backend->traits.sound;
        if (!runner.full || !sound || ms.is_null()) continue;
        const Json bytes = value_of(replay_figures(), "peak_allocated_bytes", one);
        candidates.push_back(
            {.name = runner.name,
             .time = ms.get<double>(),
             .memory = bytes.is_null() ? std::nullopt : std::optional(bytes.get<double>()),
             .registers = {},
             .times = median_interval(value_of(replay_figures(), "ms_samples", one))});
    }
    add_recommendation("this replay", "allocated of the pool at the peak", candidates, document);
}

Shape<ReplayReport> replay_provenance() {
    using Of = ReplayReport;
    Shape<Of> shape;
    shape.all_of(origin_shape(), [](const Of& r) { return r.turns.provenance; })
        .field(
            "pool_bytes", [](const Of& r) { return r.trace.pool_bytes; }, "asked for", at_least(1));
    add_forms(shape, [](const Of& r) -> const allocators::Choices& {
        return r.turns.run.settings.choices;
    });
    shape
        .field(
            "pace",
            [](const Of& r) {
                return r.trace.pace > 0 ? std::optional(r.trace.pace) : std::nullopt;
            },
            "how many times as fast as recorded calls are due; null: no pauses")
        .field(
            "repeat", [](const Of& r) { return r.turns.run.repeat; },
            "turns, a fresh pool and a timed replay in each", at_least(1))
        .field("time_limit_s", [](const Of& r) { return r.turns.run.time_limit; })
        .field("date", [](const Of& r) { return r.turns.provenance.date; }, "",
               {{"pattern", kDatePattern}});
    return shape;
}

std::vector<ReplayOf> replay_cells(const ReplayReport& report) {
    std::vector<ReplayOf> cells;
    for (const BenchCell& cell : report.turns.cells) cells.push_back({report, cell});
    return cells;
}

const Shape<ReplayReport>& replay_shape() {
    static const Shape<ReplayReport> shape = [] {
        using Of = ReplayReport;
        Shape<ReplayOf> result;
        result.all_of(replay_figures(), [](const ReplayOf& r) { return r; });
        const auto itself = [](const Of& r) -> const Of& { return r; };
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "replay")
            .object("provenance", replay_provenance(), itself, "where the figures come from")
            .object("trace", trace_facts(), itself)
            .array("results", result, replay_cells, "", 1);
        return all;
    }();
    return shape;
}

}  // namespace

Document document_of(const ReplayReport& report) {
    Document document{.title = "heapwood replay",
                      .tables = {},
                      .plots = {slowdowns(report)},
                      .remarks = remarks(report)};
    std::vector<FigureRow<ReplayOf>> rows;
    for (const ReplayOf& one : replay_cells(report)) {
        rows.push_back({starred(one.runner().name, one.runner().full), one});
        Record record{{"trace", report.trace.path}};
        append(record, replay_figures(), one);
        record.emplace_back("peak_requested_bytes", report.facts.peak_bytes);
        add_record(document.records, record);
    }
    document.tables = {trace_table(report),
                       figure_table(replay_figures(), "Replay", rows,
                                    {"ms", "ms_min", "ms_max", "slowdown", "calls_per_second",
                                     "failed", "corrupt", "outcome"}),
                       figure_table(replay_figures(), "Memory of the pool", rows,
                                    {"peak_allocated_bytes", "peak_external", "end_external"})};
    if (report.trace.pace > 0) {
        document.tables.push_back(figure_table(replay_figures(), "Behind the record", rows,
                                               {"behind_p50", "behind_p99", "behind_worst"}));
    } else {
        add_choice(report, document);  // not by times that are pauses for the most part
    }
    document.data = replay_shape().json(report);
    return document;
}

Json replay_schema() {
    return document_schema("Heapwood's report of replays (heapwood replay --json)", replay_shape());
}

}  // namespace heapwood::app
