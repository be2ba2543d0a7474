#include "app/measure/workloads/bench_tables.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "app/base/text.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// Three significant digits, without an exponent.
std::string three_digits(double value) {
    if (value == 0) return "0";
    const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
    return fixed(value, std::clamp(2 - magnitude, 0, 6));
}

/// Whether figures have a unit that stands apart from them.
bool has_unit(const Metric& metric) {
    return metric.unit != "1" && metric.unit != "B";
}

Cell figure(double value, const Metric& metric) {
    if (metric.unit == "B") return {bytes_text(static_cast<std::uint64_t>(value)), value};
    if (has_unit(metric)) return {three_digits(value), value};
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

/// The median, minimum or maximum of a cell; where there is none, the median's place says why.
Cell sample_cell(const BenchCell& cell, const Metric& metric, Phase phase,
                 double Spread::*which = &Spread::median) {
    const std::vector<double>* samples = samples_of(cell, metric, phase);
    if (samples != nullptr) return figure(spread(*samples).*which, metric);
    return which == &Spread::median ? failed_cell(cell.result.outcome, cell.result.message)
                                    : kNoValue;
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

/// A column of figures, and how its cell follows from those of a runner.
struct FigureColumn {
    std::string title;
    std::function<Cell(const Cells&)> cell;
};

/// A row for each runner that has cells in the series.
Table series_table(const BenchReport& report, std::size_t number, const std::string& title,
                   const std::string& names, const std::vector<FigureColumn>& columns) {
    Table table{.title = title, .columns = {{names}}};
    for (const FigureColumn& column : columns) table.columns.push_back({column.title, true});
    for (std::size_t p = 0; p < report.runners.size(); ++p) {
        const Cells cells = cells_of_runner(report, number, p);
        if (cells.empty()) continue;
        auto& row = table.rows.emplace_back();
        row.emplace_back(starred(report.runners[p].name, report.runners[p].full));
        for (const FigureColumn& column : columns) row.push_back(column.cell(cells));
    }
    return table;
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
    std::vector<FigureColumn> columns;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
        columns.push_back({position(series.points[i].x, *series.axis), [&, i](const Cells& cells) {
                               return sample_cell(*cells[i], metric, phase);
                           }});
    }
    columns.push_back(
        {"max/min", [&](const Cells& cells) { return row_spread(cells, metric, phase); }});
    return series_table(report, number,
                        series.title + ": " + phase_text(metric, phase) +
                            (has_unit(metric) ? " (" + metric.unit + ", medians)" : " (medians)"),
                        series.axis->title, columns);
}

/// All metrics of a series without an axis.
Table single(const BenchReport& report, std::size_t number) {
    const Series& series = report.series[number];
    std::vector<FigureColumn> columns;
    for (const Metric& metric : series.metrics) {
        for (const Phase phase : phases(metric)) {
            const auto add = [&](const std::string& title, double Spread::*which) {
                columns.push_back({title, [&metric, phase, which](const Cells& cells) {
                                       return sample_cell(*cells.front(), metric, phase, which);
                                   }});
            };
            const std::string unit = metric.unit == "1" ? "" : " " + metric.unit;
            add(phase_text(metric, phase) + unit, &Spread::median);
            if (!metric.timed) continue;
            add("min", &Spread::min);
            add("max", &Spread::max);
        }
    }
    return series_table(report, number, series.title, "allocator", columns);
}

/// The curves of a swept table. The axes are logarithmic.
Plot plot_of(const Table& table, const Series& series, const Metric& metric, Phase phase) {
    Plot plot{.table = table.title,
              .title = phase_text(metric, phase),
              .x = series.axis->title,
              .y = metric.unit == "1" ? "" : metric.unit};
    for (const auto& row : table.rows) {
        Plot::Line line{.name = row[0].text, .points = {}, .partial = row[0].text.ends_with('*')};
        for (std::size_t i = 0; i < series.points.size(); ++i) {
            const Cell& cell = row[i + 1];
            const double x = series.points[i].x;
            if (x <= 0 || cell.value.value_or(0) <= 0) continue;
            line.points.push_back({x, *cell.value, table.columns[i + 1].title + ": " + cell.text});
        }
        plot.lines.push_back(std::move(line));
    }
    return plot;
}

}  // namespace

void add_tables(const BenchReport& report, Document& document) {
    std::vector<std::vector<Cell>> facts{
        {"device", report.provenance.machine.text()},
        {"turns", std::to_string(report.run.repeat) +
                      ", each of a cold iteration on a fresh pool and up to " +
                      std::to_string(warm_iterations(report.run.settings)) + " warm ones"}};
    if (const auto& graph = report.run.settings.graph) {
        facts.push_back({"graph", graph->path + ": " + grouped(graph->vertices) + " vertices, " +
                                      grouped(graph->edges) + " edges, greatest degree " +
                                      grouped(graph->greatest_degree)});
    }
    document.tables.push_back(facts_table("Bench", std::move(facts)));
    for (std::size_t number = 0; number < report.series.size(); ++number) {
        const Series& series = report.series[number];
        if (!series.axis) {
            document.tables.push_back(single(report, number));
            continue;
        }
        for (const Metric& metric : series.metrics) {
            for (const Phase phase : phases(metric)) {
                Table table = swept(report, number, metric, phase);
                document.plots.push_back(plot_of(table, series, metric, phase));
                for (const PublishedRow& row : report.published) {
                    // The published figures are medians of 100 runs, of which one is cold.
                    if (phase == &Samples::cold || row.series != series.id ||
                        row.metric != metric.name) {
                        continue;
                    }
                    table.rows.push_back(published_cells(row, series));
                }
                document.tables.push_back(std::move(table));
            }
        }
    }
}

}  // namespace heapwood::app
