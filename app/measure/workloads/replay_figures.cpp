#include "app/measure/workloads/replay_figures.h"

#include <optional>

#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

using Phase = std::vector<double> Samples::*;

/// The samples of a metric, none if there are none.
std::vector<double> samples(const BenchCell& cell, const char* metric, Phase phase) {
    const auto found = cell.result.metrics.find(metric);
    return found == cell.result.metrics.end() ? std::vector<double>() : found->second.*phase;
}

/// The median of the timed replays.
std::optional<double> median_ms(const BenchCell& cell) {
    const std::vector<double> warm = samples(cell, "ms", &Samples::warm);
    if (warm.empty()) return std::nullopt;
    return spread(warm).median;
}

/// Median over the median of atomicmalloc, if both are there.
Json over_atomicmalloc(const ReplayOf& r) {
    const std::optional<double> mine = median_ms(r.cell);
    for (const BenchCell& other : r.report.turns.cells) {
        if (ReplayOf{r.report, other}.runner().name != "atomicmalloc") continue;
        const std::optional<double> base = median_ms(other);
        if (mine && base && *base > 0) return *mine / *base;
    }
    return {};
}

/// Requests and frees in a second.
Json calls_per_second(const ReplayOf& r) {
    const std::optional<double> ms = median_ms(r.cell);
    if (!ms || *ms <= 0) return {};
    const allocators::Counts& counts = r.cell.result.counts;
    return static_cast<double>(counts.requests + counts.frees) / *ms * 1000;
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

/// The median of something that is not timed.
Figure<ReplayOf, ReplayOf> value(const char* key, const char* title, Unit unit) {
    return figure<ReplayOf>(key, key, title, unit, [=](const ReplayOf& r) {
        const std::vector<double> all = samples(r.cell, key, &Samples::value);
        return all.empty() ? Json() : Json(spread(all).median);
    });
}

/// Until the counted replay, which comes last, only what goes wrong is counted.
Figure<ReplayOf, ReplayOf> counted(const char* key, std::uint64_t allocators::Counts::*which,
                                   bool (*known)(const ReplayOf&)) {
    return figure<ReplayOf>(key, key, key, Unit::count, [=](const ReplayOf& r) {
        return known(r) ? Json(r.cell.result.counts.*which) : Json();
    });
}

/// Of the timed replays.
FigureGroup<ReplayOf, ReplayOf> times_group() {
    const auto warm = [](const ReplayOf& r) { return samples(r.cell, "ms", &Samples::warm); };
    const auto time = [=](const char* key, const char* name, const char* title,
                          double Spread::*which) {
        return figure<ReplayOf>(key, name, title, Unit::ms,
                                [=](const ReplayOf& r) { return spread(warm(r)).*which; });
    };
    return {"/ms",
            [=](const ReplayOf& r) { return !warm(r).empty(); },
            {time("ms", "median", "ms", &Spread::median),
             time("ms_min", "min", "min", &Spread::min), time("ms_max", "max", "max", &Spread::max),
             figure<ReplayOf>("ms_samples", "samples", "samples", Unit::ms, warm)}};
}

}  // namespace

const FigureList<ReplayOf>& replay_figures() {
    using allocators::Counts;
    using Of = ReplayOf;
    static const FigureList<Of> all{
        {"",
         always,
         {plain<Of>("allocator", [](const Of& r) { return r.runner().name; }),
          plain<Of>(
              "title", [](const Of& r) { return r.runner().title; }, false),
          plain<Of>(
              "full", [](const Of& r) { return r.runner().full; }, false),
          plain<Of>("outcome", [](const Of& r) { return name(r.cell.result.outcome); }),
          plain<Of>("message", [](const Of& r) { return or_null(r.cell.result.message); }),
          value("callers", "callers", Unit::count),
          figure<Of>("pool_bytes", "pool_bytes", "pool", Unit::bytes,
                     [](const Of& r) { return r.cell.task.pool_bytes; })}},
        times_group(),
        {"",
         always,
         {plain<Of>(
              "cold_ms",
              [](const Of& r) { return spread_json(samples(r.cell, "ms", &Samples::cold)); },
              false),
          figure<Of>("slowdown", "slowdown", "slowdown", Unit::factor, over_atomicmalloc),
          figure<Of>("calls_per_second", "calls_per_second", "Mcalls/s", Unit::rate,
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
          value("end_external", "external", Unit::fraction),
          value("behind_p50", "median", Unit::ms), value("behind_p99", "99 of 100", Unit::ms),
          value("behind_worst", "worst", Unit::ms)}}};
    return all;
}

}  // namespace heapwood::app
