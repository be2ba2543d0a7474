#include <algorithm>
#include <cmath>

#include "app/base/text.h"
#include "app/report/bench_document.h"
#include "app/report/cells.h"

namespace heapwood::app {
namespace {

/// Three significant digits, without an exponent.
std::string three_digits(double value) {
    if (value == 0) return "0";
    const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
    return fixed(value, std::clamp(2 - magnitude, 0, 6));
}

Cell figure(double value, const Metric& metric) {
    if (metric.unit == "B") return {bytes_text(static_cast<std::uint64_t>(value)), value};
    if (metric.timed || metric.unit == "ms") return {three_digits(value), value};
    const bool whole = metric.unit == "1" && value == std::floor(value) && value > 1;
    return {fixed(value, whole ? 0 : 3), value};
}

std::string position(double x, const Axis& axis) {
    const auto value = static_cast<std::uint64_t>(x);
    return axis.name == "pool_bytes" ? bytes_text(value) : grouped(value);
}

/// The samples that a table is of.
using Phase = std::vector<double> Samples::*;

std::string phase_text(const Metric& metric, Phase phase) {
    if (!metric.timed) return metric.title;
    return metric.title + (phase == &Samples::cold ? ", cold" : ", warm");
}

std::vector<Phase> phases(const Metric& metric) {
    if (!metric.timed) return {&Samples::value};
    return {&Samples::warm, &Samples::cold};
}

const std::vector<double>* samples_of(const BenchCell& cell, const Metric& metric, Phase phase) {
    const auto found = cell.result.metrics.find(metric.name);
    if (found == cell.result.metrics.end() || (found->second.*phase).empty()) return nullptr;
    return &(found->second.*phase);
}

using Cells = std::vector<const BenchCell*>;

/// The cells of a series by a runner, in the order of the points.
Cells cells_of_runner(const BenchReport& report, std::size_t series, std::size_t runner) {
    Cells cells;
    for (const BenchCell& cell : report.cells) {
        if (cell.series == series && cell.runner == runner) cells.push_back(&cell);
    }
    return cells;
}

/// How far the samples of a row lie apart, where that is most.
Cell row_spread(const Cells& cells, const Metric& metric, Phase phase) {
    double worst = 0;
    for (const BenchCell* cell : cells) {
        const std::vector<double>* samples = samples_of(*cell, metric, phase);
        if (samples == nullptr) continue;
        const Spread s = spread(*samples);
        if (s.min > 0) worst = std::max(worst, s.max / s.min);
    }
    return shown(worst == 0 ? Json() : Json(worst), Unit::factor);
}

std::string swept_title(const Series& series, const Metric& metric, Phase phase) {
    return series.title + ": " + phase_text(metric, phase) +
           (metric.unit == "ms" ? " (ms, medians)" : " (medians)");
}

/// A published row at the points of the series.
std::vector<Cell> published_cells(const PublishedRow& published, const Series& series) {
    std::vector<Cell> row{published.device + ": " + published.name};
    for (const Point& point : series.points) {
        const auto at = std::find(published.x.begin(), published.x.end(), point.x);
        const auto place = static_cast<std::size_t>(at - published.x.begin());
        const bool known = at != published.x.end() && published.values[place];
        row.push_back(known ? Cell{three_digits(*published.values[place]), *published.values[place]}
                            : Cell(kNoValue));
    }
    row.emplace_back(kNoValue);
    return row;
}

/// A metric of a series along its axis.
Table swept(const BenchReport& report, std::size_t number, const Metric& metric, Phase phase) {
    const Series& series = report.series[number];
    Table table{.title = swept_title(series, metric, phase), .columns = {{series.axis->title}}};
    for (const Point& point : series.points) {
        table.columns.push_back({position(point.x, *series.axis), true});
    }
    table.columns.push_back({"max/min", true});
    for (std::size_t p = 0; p < report.runners.size(); ++p) {
        const Cells cells = cells_of_runner(report, number, p);
        if (cells.empty()) continue;
        std::vector<Cell> row{starred(report.runners[p].name, report.runners[p].full)};
        for (const BenchCell* cell : cells) {
            const std::vector<double>* samples = samples_of(*cell, metric, phase);
            row.push_back(samples != nullptr
                              ? figure(spread(*samples).median, metric)
                              : failed_cell(cell->result.outcome, cell->result.message));
        }
        row.push_back(row_spread(cells, metric, phase));
        table.rows.push_back(std::move(row));
    }
    // The published figures are medians of 100 runs, of which one is cold.
    if (phase == &Samples::cold) return table;
    for (const PublishedRow& published : report.published) {
        if (published.series != series.id || published.metric != metric.name) continue;
        table.rows.push_back(published_cells(published, series));
    }
    return table;
}

/// Median, and for what is timed minimum and maximum, of a cell without an axis.
void append_figures(const BenchCell& cell, const Metric& metric, Phase phase,
                    std::vector<Cell>& row) {
    const std::vector<double>* samples = samples_of(cell, metric, phase);
    if (samples == nullptr) {
        row.push_back(failed_cell(cell.result.outcome, cell.result.message));
        if (metric.timed) row.insert(row.end(), {kNoValue, kNoValue});
        return;
    }
    const Spread s = spread(*samples);
    row.push_back(figure(s.median, metric));
    if (metric.timed) row.insert(row.end(), {figure(s.min, metric), figure(s.max, metric)});
}

/// All metrics of a series without an axis.
Table single(const BenchReport& report, std::size_t number) {
    const Series& series = report.series[number];
    Table table{.title = series.title, .columns = {{"allocator"}}};
    for (const Metric& metric : series.metrics) {
        for (const Phase phase : phases(metric)) {
            const std::string unit = metric.unit == "1" ? "" : " " + metric.unit;
            table.columns.push_back({phase_text(metric, phase) + unit, true});
            if (metric.timed) {
                table.columns.insert(table.columns.end(), {{"min", true}, {"max", true}});
            }
        }
    }
    for (std::size_t p = 0; p < report.runners.size(); ++p) {
        for (const BenchCell* cell : cells_of_runner(report, number, p)) {
            std::vector<Cell> row{starred(report.runners[p].name, report.runners[p].full)};
            for (const Metric& metric : series.metrics) {
                for (const Phase phase : phases(metric)) append_figures(*cell, metric, phase, row);
            }
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

Table run_table(const BenchReport& report) {
    return {.title = "Bench",
            .columns = {{""}, {""}},
            .rows = {{"device", report.machine.text()},
                     {"turns", std::to_string(report.run.repeat) +
                                   ", each of a cold iteration on a fresh pool and up to " +
                                   std::to_string(warm_iterations(report.run.settings)) +
                                   " warm ones"}}};
}

/// The axes are logarithmic.
Plot swept_plot(const BenchReport& report, std::size_t number, const Metric& metric, Phase phase) {
    const Series& series = report.series[number];
    Plot plot{.table = swept_title(series, metric, phase),
              .title = phase_text(metric, phase),
              .x = series.axis->title,
              .y = metric.unit == "1" ? "" : metric.unit};
    for (std::size_t p = 0; p < report.runners.size(); ++p) {
        const Runner& runner = report.runners[p];
        Plot::Line line{
            .name = starred(runner.name, runner.full), .points = {}, .partial = !runner.full};
        for (const BenchCell* cell : cells_of_runner(report, number, p)) {
            const std::vector<double>* samples = samples_of(*cell, metric, phase);
            if (samples == nullptr || cell->x.value_or(0) <= 0) continue;
            const double median = spread(*samples).median;
            if (median <= 0) continue;
            line.points.push_back(
                {*cell->x, median,
                 position(*cell->x, *series.axis) + ": " + figure(median, metric).text});
        }
        plot.lines.push_back(std::move(line));
    }
    return plot;
}

/// Calls `visit(number, metric, phase)` for every table along an axis, or nullptr for the one table
/// of a series without an axis.
template <class Visit>
void for_each_table(const BenchReport& report, const Visit& visit) {
    for (std::size_t number = 0; number < report.series.size(); ++number) {
        if (!report.series[number].axis) {
            visit(number, nullptr, nullptr);
            continue;
        }
        for (const Metric& metric : report.series[number].metrics) {
            for (const Phase phase : phases(metric)) visit(number, &metric, phase);
        }
    }
}

}  // namespace

std::vector<Table> bench_tables(const BenchReport& report) {
    std::vector<Table> tables{run_table(report)};
    for_each_table(report, [&](std::size_t number, const Metric* metric, Phase phase) {
        tables.push_back(metric == nullptr ? single(report, number)
                                           : swept(report, number, *metric, phase));
    });
    return tables;
}

std::vector<Plot> bench_plots(const BenchReport& report) {
    std::vector<Plot> plots;
    for_each_table(report, [&](std::size_t number, const Metric* metric, Phase phase) {
        if (metric != nullptr) plots.push_back(swept_plot(report, number, *metric, phase));
    });
    return plots;
}

}  // namespace heapwood::app
