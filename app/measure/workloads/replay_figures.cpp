#include "app/measure/workloads/replay_figures.h"

#include <optional>

#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

using Phase = std::vector<double> Samples::*;

/// The samples of a metric; empty if the cell lacks the metric.
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
std::optional<double> over_atomicmalloc(const ReplayOf& r) {
    const std::optional<double> mine = median_ms(r.cell);
    for (const BenchCell& other : r.report.turns.cells) {
        if (ReplayOf{r.report, other}.runner().name != "atomicmalloc") continue;
        const std::optional<double> base = median_ms(other);
        if (mine && base && *base > 0) return *mine / *base;
    }
    return {};
}

/// Requests and frees in a second.
std::optional<double> calls_per_second(const ReplayOf& r) {
    const std::optional<double> ms = median_ms(r.cell);
    if (!ms || *ms <= 0) return {};
    const allocators::Counts& counts = r.cell.result.counts;
    return static_cast<double>(counts.requests + counts.frees) / *ms * 1000;
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
    return figure<ReplayOf>(key, key, title, unit, [=](const ReplayOf& r) -> std::optional<double> {
        const std::vector<double> all = samples(r.cell, key, &Samples::value);
        if (all.empty()) return {};
        return spread(all).median;
    });
}

/// Until the counted replay, which comes last, only what goes wrong is counted.
Figure<ReplayOf, ReplayOf> counted(const char* key, std::uint64_t allocators::Counts::*which) {
    return figure<ReplayOf>(key, key, key, Unit::count,
                            [=](const ReplayOf& r) -> std::optional<std::uint64_t> {
                                if (!done(r)) return {};
                                return r.cell.result.counts.*which;
                            });
}
Figure<ReplayOf, ReplayOf> wrong(const char* key, std::uint64_t allocators::Counts::*which) {
    return figure<ReplayOf>(key, key, key, Unit::count,
                            [=](const ReplayOf& r) { return r.cell.result.counts.*which; });
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
             figure<ReplayOf>("ms_samples", "samples", "samples", Unit::ms, warm)
                 .with({{"minItems", 1}})}};
}

}  // namespace

const FigureList<ReplayOf>& replay_figures() {
    using allocators::Counts;
    using Of = ReplayOf;
    Figure<Of, Of> cold{
        "", "cold_ms", "cold_ms", Unit::word, nullable(samples_shape().schema()), [](const Of& r) {
            const std::vector<double> all = samples(r.cell, "ms", &Samples::cold);
            return all.empty() ? Json() : samples_shape().json(all);
        }};
    static const FigureList<Of> all{
        {"",
         {},
         {plain<Of>("allocator", [](const Of& r) { return r.runner().name; }),
          plain<Of>(
              "title", [](const Of& r) { return r.runner().title; }, false),
          plain<Of>(
              "full", [](const Of& r) { return r.runner().full; }, false),
          plain<Of>("outcome", [](const Of& r) { return name(r.cell.result.outcome); })
              .with(one_of(outcome_names(of_workload | of_process, {Outcome::skipped}))),
          plain<Of>("message", [](const Of& r) { return text_or_none(r.cell.result.message); })
              .about("why, if not done"),
          value("callers", "callers", Unit::count)
              .never_zero()
              .about("fewer than the trace's if these cannot run at the same time"),
          figure<Of>("pool_bytes", "pool_bytes", "pool", Unit::bytes,
                     [](const Of& r) { return r.cell.task.pool_bytes; })
              .never_zero()}},
        times_group(),
        {"",
         {},
         {cold.about("of the first replay in each fresh pool"),
          figure<Of>("slowdown", "slowdown", "slowdown", Unit::factor, over_atomicmalloc)
              .about("median over that of atomicmalloc in the same run"),
          figure<Of>("calls_per_second", "calls_per_second", "Mcalls/s", Unit::rate,
                     calls_per_second)}},
        {"/counts",
         has_counts,
         {counted("requests", &Counts::requests), counted("frees", &Counts::frees),
          wrong("failed", &Counts::failed), wrong("corrupt", &Counts::corrupt)},
         {},
         "of the last replay; requests and frees are counted if it is done"},
        {"",
         {},
         {value("peak_allocated_bytes", "peak: allocated", Unit::bytes)
              .about("of the pool, when the trace is at its peak"),
          value("peak_external", "peak: external", Unit::fraction)
              .about("external fragmentation then"),
          value("end_external", "external", Unit::fraction)
              .about("external fragmentation after the trace's last call"),
          value("behind_p50", "median", Unit::ms)
              .about("with a pace: milliseconds from a call's time to its begin, the median; that "
                     "and the next two are medians over the turns"),
          value("behind_p99", "99 of 100", Unit::ms).about("which 99 of 100 calls do not exceed"),
          value("behind_worst", "worst", Unit::ms)}}};
    return all;
}

const Shape<ReplayReport>& trace_facts() {
    static const Shape<ReplayReport> shape = [] {
        using Of = ReplayReport;
        Shape<Of> all;
        all.field("path", [](const Of& r) { return r.trace.path; })
            .field(
                "callers", [](const Of& r) { return r.callers; }, "", at_least(1))
            .field(
                "requests", [](const Of& r) { return r.facts.requests; }, "", at_least(1))
            .field("frees", [](const Of& r) { return r.facts.frees; })
            .field(
                "bytes", [](const Of& r) { return r.facts.bytes; }, "of all requests", at_least(4))
            .field(
                "largest_bytes", [](const Of& r) { return r.facts.largest; }, "", at_least(4))
            .field(
                "peak_bytes", [](const Of& r) { return r.facts.peak_bytes; },
                "most that is requested and not yet freed", at_least(4))
            .field(
                "root_bytes", [](const Of& r) { return r.root_bytes; }, "the unit of pool sizes",
                at_least(4))
            .field(
                "recorded_ns", [](const Of& r) { return r.facts.nanoseconds; },
                "from the first call to the last, in nanoseconds; null: not recorded")
            .put(
                "header", {{"type", "object"}}, [](const Of& r) { return Json::parse(r.header); },
                "the first line of the trace's file");
        return all;
    }();
    return shape;
}

}  // namespace heapwood::app
