#include <optional>

#include "app/report/replay_document.h"

namespace heapwood::app {
namespace {

using ReplayFigure = Figure<ReplayOf, ReplayOf>;
using Phase = std::vector<double> Samples::*;

const Runner& runner(const ReplayOf& r) {
    return r.report.turns.runners[r.cell.runner];
}

/// The samples of a metric, none if there are none.
const std::vector<double>& samples(const BenchCell& cell, const char* metric, Phase phase) {
    static const std::vector<double> kNone;
    const auto found = cell.result.metrics.find(metric);
    return found == cell.result.metrics.end() ? kNone : found->second.*phase;
}

/// Of the timed replays.
std::optional<Spread> times(const BenchCell& cell) {
    const std::vector<double>& warm = samples(cell, "ms", &Samples::warm);
    if (warm.empty()) return std::nullopt;
    return spread(warm);
}

/// Median over the median of atomicmalloc, if both are there.
Json slowdown(const ReplayOf& r) {
    const std::optional<Spread> mine = times(r.cell);
    for (const BenchCell& other : r.report.turns.cells) {
        if (r.report.turns.runners[other.runner].name != "atomicmalloc") continue;
        const std::optional<Spread> base = times(other);
        if (mine && base && base->median > 0) return mine->median / base->median;
    }
    return {};
}

/// Requests and frees in a second.
Json calls_per_second(const ReplayOf& r) {
    const std::optional<Spread> ms = times(r.cell);
    if (!ms || ms->median <= 0) return {};
    const allocators::Counts& counts = r.cell.result.counts;
    return static_cast<double>(counts.requests + counts.frees) / ms->median * 1000;
}

bool always(const ReplayOf&) {
    return true;
}

bool done(const ReplayOf& r) {
    return r.cell.result.outcome == Outcome::done;
}

/// Whether callers have seen what became of their requests.
bool has_counts(const ReplayOf& r) {
    const Outcome outcome = r.cell.result.outcome;
    return done(r) || outcome == Outcome::out_of_pool || outcome == Outcome::corrupt;
}

template <class Get>
ReplayFigure figure(const char* key, const char* name, const char* title, Unit unit, Get get) {
    return {key, name, title, unit, [=](const ReplayOf& r) { return Json(get(r)); }};
}

/// The median of something that is not timed.
ReplayFigure value(const char* key, const char* title, Unit unit) {
    return figure(key, key, title, unit, [=](const ReplayOf& r) {
        const std::vector<double>& all = samples(r.cell, key, &Samples::value);
        return all.empty() ? Json() : Json(spread(all).median);
    });
}

ReplayFigure time(const char* key, const char* name, const char* title, double Spread::*which) {
    return figure(key, name, title, Unit::ms,
                  [=](const ReplayOf& r) { return (*times(r.cell)).*which; });
}

/// Until the counted replay, which comes last, only what goes wrong is counted.
ReplayFigure counted(const char* key, std::uint64_t allocators::Counts::*which,
                     bool (*known)(const ReplayOf&)) {
    return figure(key, key, key, Unit::count, [=](const ReplayOf& r) {
        return known(r) ? Json(r.cell.result.counts.*which) : Json();
    });
}

FigureList<ReplayOf> made_replay_figures() {
    using allocators::Counts;
    return {
        {"",
         always,
         {figure("allocator", "allocator", "allocator", Unit::word,
                 [](const ReplayOf& r) { return runner(r).name; }),
          figure("", "title", "title", Unit::word,
                 [](const ReplayOf& r) { return runner(r).title; }),
          figure("", "full", "full", Unit::word, [](const ReplayOf& r) { return runner(r).full; }),
          figure("outcome", "outcome", "outcome", Unit::word,
                 [](const ReplayOf& r) { return name(r.cell.result.outcome); }),
          figure("message", "message", "message", Unit::word,
                 [](const ReplayOf& r) {
                     const std::string& why = r.cell.result.message;
                     return why.empty() ? Json() : Json(why);
                 }),
          value("callers", "callers", Unit::count),
          figure("pool_bytes", "pool_bytes", "pool", Unit::bytes,
                 [](const ReplayOf& r) { return r.cell.task.pool_bytes; })}},
        {"/ms",
         [](const ReplayOf& r) { return times(r.cell).has_value(); },
         {time("ms", "median", "ms", &Spread::median), time("ms_min", "min", "min", &Spread::min),
          time("ms_max", "max", "max", &Spread::max),
          figure("ms_samples", "samples", "samples", Unit::ms,
                 [](const ReplayOf& r) { return samples(r.cell, "ms", &Samples::warm); })}},
        {"",
         always,
         {figure(
              "", "cold_ms", "cold ms", Unit::ms,
              [](const ReplayOf& r) { return spread_json(samples(r.cell, "ms", &Samples::cold)); }),
          figure("slowdown", "slowdown", "slowdown", Unit::factor, slowdown),
          figure("calls_per_second", "calls_per_second", "Mcalls/s", Unit::rate,
                 calls_per_second)}},
        {"/counts",
         has_counts,
         {counted("requests", &Counts::requests, done), counted("frees", &Counts::frees, done),
          counted("failed", &Counts::failed, always),
          counted("corrupt", &Counts::corrupt, always)}},
        {"",
         always,
         {value("peak_allocated_bytes", "peak: allocated", Unit::bytes),
          value("peak_external", "peak: external", Unit::fraction),
          value("end_external", "external", Unit::fraction)}}};
}

}  // namespace

const FigureList<ReplayOf>& replay_figures() {
    static const FigureList<ReplayOf> all = made_replay_figures();
    return all;
}

}  // namespace heapwood::app
