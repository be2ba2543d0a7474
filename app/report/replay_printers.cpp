#include "app/report/replay_printers.h"
#include "app/backends/allocator_options.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/text.h"
#include "app/report/json_parts.h"
#include "app/report/sections.h"
#include "app/report/table.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// The version of app/report/schemas/replay.schema.json; a reader may rely on it.
constexpr int kSchema = 1;

const std::vector<double>* samples(const BenchCell& cell, const char* metric,
                                   std::vector<double> Samples::*phase) {
    const auto found = cell.result.metrics.find(metric);
    if (found == cell.result.metrics.end() || (found->second.*phase).empty()) return nullptr;
    return &(found->second.*phase);
}

/// Of the timed replays.
std::optional<Spread> times(const BenchCell& cell) {
    const std::vector<double>* warm = samples(cell, "ms", &Samples::warm);
    if (warm == nullptr) return std::nullopt;
    return spread(*warm);
}

/// The median of something that is not timed.
std::optional<double> value(const BenchCell& cell, const char* metric) {
    const std::vector<double>* all = samples(cell, metric, &Samples::value);
    if (all == nullptr) return std::nullopt;
    return spread(*all).median;
}

const Player& player(const ReplayReport& report, const BenchCell& cell) {
    return report.turns.players[cell.player];
}

/// Median over the median of atomicmalloc, if both are there.
std::optional<double> slowdown(const ReplayReport& report, const BenchCell& cell) {
    const std::optional<Spread> mine = times(cell);
    for (const BenchCell& other : report.turns.cells) {
        if (player(report, other).name != "atomicmalloc") continue;
        const std::optional<Spread> base = times(other);
        if (mine && base && base->median > 0) return mine->median / base->median;
    }
    return std::nullopt;
}

/// Requests and frees in a second.
std::optional<double> operations(const BenchCell& cell) {
    const std::optional<Spread> ms = times(cell);
    if (!ms || ms->median <= 0) return std::nullopt;
    const auto calls = static_cast<double>(cell.result.counts.requests + cell.result.counts.frees);
    return calls / ms->median * 1000;
}

/// Whether callers have seen what became of their requests.
bool has_counts(const BenchCell& cell) {
    const Outcome outcome = cell.result.outcome;
    return outcome == Outcome::done || outcome == Outcome::out_of_pool ||
           outcome == Outcome::corrupt;
}

std::string shown(const std::optional<double>& v, const std::function<std::string(double)>& text) {
    return v ? text(*v) : kNoValue;
}
std::string percent(double fraction) {
    return fixed(100 * fraction, 1) + " %";
}

/// A text of the trace's header, or nothing: strangers may write traces, too.
std::string said(const Json& header, const char* object, const char* field) {
    const Json inner = *object == '\0' ? header : header.value(object, Json::object());
    if (!inner.is_object()) return "";
    const Json text = inner.value(field, Json());
    return text.is_string() ? text.get<std::string>() : "";
}

Table trace_table(const ReplayReport& report) {
    const Json header = Json::parse(report.header);
    const allocators::TraceFacts& f = report.facts;
    const auto known = [](const std::string& text) { return text.empty() ? kNoValue : text; };
    std::string callers = grouped(report.callers);
    for (const BenchCell& cell : report.turns.cells) {
        const std::optional<double> replaying = value(cell, "callers");
        if (replaying && *replaying < report.callers) {
            callers += ", replayed by " + grouped(static_cast<std::uint64_t>(*replaying));
            break;
        }
    }
    return {.title = "Trace",
            .columns = {{""}, {""}},
            .rows = {{"file", report.path},
                     {"scene", known(said(header, "scene", "path"))},
                     {"recorded", "with " + known(said(header, "", "allocator")) + " on " +
                                      known(said(header, "provenance", "device"))},
                     {"callers", callers},
                     {"calls", grouped(f.requests) + " requests of " + bytes_text(f.bytes) +
                                   " in all, " + grouped(f.frees) + " frees"},
                     {"peak", bytes_text(f.peak_bytes) + " requested and not yet freed"},
                     {"device", report.turns.machine.text()},
                     {"pool", bytes_text(report.pool_bytes)}}};
}

Table result_table(const ReplayReport& report) {
    Table table{.title = "Replay",
                .columns = {{"allocator"},
                            {"ms", true},
                            {"min", true},
                            {"max", true},
                            {"slowdown", true},
                            {"Mcalls/s", true},
                            {"failed", true},
                            {"corrupt", true},
                            {"peak: allocated", true},
                            {"peak: external", true},
                            {"external", true},
                            {"outcome"}},
                .rows = {}};
    for (const BenchCell& cell : report.turns.cells) {
        const std::optional<Spread> ms = times(cell);
        const auto time = [&](double Spread::*which) {
            return ms ? fixed((*ms).*which, 3) : kNoValue;
        };
        const auto count = [&](std::uint64_t number) {
            return has_counts(cell) ? grouped(number) : kNoValue;
        };
        const Player& who = player(report, cell);
        table.rows.push_back(
            {who.name + (who.full ? "" : "*"), time(&Spread::median), time(&Spread::min),
             time(&Spread::max),
             shown(slowdown(report, cell), [](double v) { return fixed(v, 2) + "x"; }),
             shown(operations(cell), [](double v) { return fixed(v / 1e6, 2); }),
             count(cell.result.counts.failed), count(cell.result.counts.corrupt),
             shown(value(cell, "peak_allocated_bytes"),
                   [](double v) { return bytes_text(static_cast<std::uint64_t>(v)); }),
             shown(value(cell, "peak_external"), percent),
             shown(value(cell, "end_external"), percent), name(cell.result.outcome)});
    }
    return table;
}

std::vector<std::string> remarks(const ReplayReport& report) {
    std::vector<std::string> all;
    bool asterisk = false;
    for (const BenchCell& cell : report.turns.cells) {
        const Player& who = player(report, cell);
        asterisk = asterisk || !who.full;
        if (!cell.result.message.empty()) all.push_back(who.name + ": " + cell.result.message);
    }
    if (asterisk) all.emplace_back(kAsteriskRemark);
    return all;
}

Json number(const std::optional<double>& v) {
    return v ? Json(*v) : Json();
}

Json spread_json(const std::vector<double>* all) {
    if (all == nullptr) return {};
    const Spread s = spread(*all);
    return {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"samples", *all}};
}

Json cell_json(const ReplayReport& report, const BenchCell& cell) {
    const TaskResult& r = cell.result;
    const Player& who = player(report, cell);
    Json counts;
    if (has_counts(cell)) {
        // Until the counted replay, which comes last, only what goes wrong is counted.
        const bool done = r.outcome == Outcome::done;
        counts = {{"requests", done ? Json(r.counts.requests) : Json()},
                  {"frees", done ? Json(r.counts.frees) : Json()},
                  {"failed", r.counts.failed},
                  {"corrupt", r.counts.corrupt}};
    }
    return {{"allocator", who.name},
            {"title", who.title},
            {"full", who.full},
            {"outcome", name(r.outcome)},
            {"message", r.message.empty() ? Json() : Json(r.message)},
            {"callers", number(value(cell, "callers"))},
            {"pool_bytes", cell.task.pool_bytes},
            {"ms", spread_json(samples(cell, "ms", &Samples::warm))},
            {"cold_ms", spread_json(samples(cell, "ms", &Samples::cold))},
            {"slowdown", number(slowdown(report, cell))},
            {"calls_per_second", number(operations(cell))},
            {"counts", counts},
            {"peak_allocated_bytes", number(value(cell, "peak_allocated_bytes"))},
            {"peak_external", number(value(cell, "peak_external"))},
            {"end_external", number(value(cell, "end_external"))}};
}

}  // namespace

std::string as_text(const ReplayReport& report, bool colour) {
    std::string text =
        as_text(trace_table(report), colour) + "\n" + as_text(result_table(report), colour);
    const std::vector<std::string> lines = remarks(report);
    if (!lines.empty()) text += "\n";
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

std::string as_markdown(const ReplayReport& report) {
    std::string text =
        as_markdown(trace_table(report)) + "\n" + as_markdown(result_table(report)) + "\n";
    for (const std::string& line : remarks(report)) text += markdown_escaped(line) + "\n\n";
    return text;
}

std::string as_csv(const ReplayReport& report) {
    Table table{.title = "",
                .columns = {{"trace"},
                            {"allocator"},
                            {"outcome"},
                            {"message"},
                            {"callers"},
                            {"pool_bytes"},
                            {"ms"},
                            {"ms_min"},
                            {"ms_max"},
                            {"samples"},
                            {"slowdown"},
                            {"calls_per_second"},
                            {"requests"},
                            {"frees"},
                            {"failed"},
                            {"corrupt"},
                            {"peak_requested_bytes"},
                            {"peak_allocated_bytes"},
                            {"peak_external"},
                            {"end_external"}},
                .rows = {}};
    const auto text = [](const std::optional<double>& v) { return v ? shortest(*v) : ""; };
    for (const BenchCell& cell : report.turns.cells) {
        const std::optional<Spread> ms = times(cell);
        const auto* all = samples(cell, "ms", &Samples::warm);
        const allocators::Counts& counts = cell.result.counts;
        const auto count = [](bool known, std::uint64_t number) {
            return known ? std::to_string(number) : "";
        };
        const bool done = cell.result.outcome == Outcome::done;
        table.rows.push_back({report.path,
                              player(report, cell).name,
                              name(cell.result.outcome),
                              cell.result.message,
                              text(value(cell, "callers")),
                              std::to_string(cell.task.pool_bytes),
                              ms ? shortest(ms->median) : "",
                              ms ? shortest(ms->min) : "",
                              ms ? shortest(ms->max) : "",
                              all == nullptr ? "" : std::to_string(all->size()),
                              text(slowdown(report, cell)),
                              text(operations(cell)),
                              count(done, counts.requests),
                              count(done, counts.frees),
                              count(has_counts(cell), counts.failed),
                              count(has_counts(cell), counts.corrupt),
                              std::to_string(report.facts.peak_bytes),
                              text(value(cell, "peak_allocated_bytes")),
                              text(value(cell, "peak_external")),
                              text(value(cell, "end_external"))});
    }
    return as_csv(table);
}

std::string as_json(const ReplayReport& report) {
    const BenchRun& run = report.turns.run;
    Json provenance = origin_json(report.turns.arguments, report.turns.machine);
    provenance.update({{"pool_bytes", report.pool_bytes},
                       {"forms", choices_json(run.settings.choices)},
                       {"repeat", run.repeat},
                       {"time_limit_s", run.time_limit},
                       {"date", report.turns.date}});
    const allocators::TraceFacts& f = report.facts;
    Json results = Json::array();
    for (const BenchCell& cell : report.turns.cells) results.push_back(cell_json(report, cell));
    return document({{"schema", kSchema},
                     {"kind", "replay"},
                     {"provenance", provenance},
                     {"trace",
                      {{"path", report.path},
                       {"callers", report.callers},
                       {"requests", f.requests},
                       {"frees", f.frees},
                       {"bytes", f.bytes},
                       {"largest_bytes", f.largest},
                       {"peak_bytes", f.peak_bytes},
                       {"root_bytes", report.root_bytes},
                       {"header", Json::parse(report.header)}}},
                     {"results", results}});
}

}  // namespace heapwood::app
