#include <algorithm>
#include <cmath>
#include <functional>

#include "app/base/text.h"
#include "app/report/bench_printers.h"

namespace heapwood::app {
namespace {

/// Three significant digits, without an exponent.
std::string three_digits(double value) {
    if (value == 0) return "0";
    const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
    return fixed(value, std::clamp(2 - magnitude, 0, 6));
}

std::string figure(double value, const Metric& metric) {
    if (metric.unit == "B") return bytes_text(static_cast<std::uint64_t>(value));
    if (metric.timed || metric.unit == "ms") return three_digits(value);
    return metric.unit == "1" && value == std::floor(value) && value > 1 ? fixed(value, 0)
                                                                         : fixed(value, 3);
}

std::string position(double x, const Axis& axis) {
    const auto value = static_cast<std::uint64_t>(x);
    return axis.name == "pool_bytes" ? bytes_text(value) : grouped(value);
}

/// Which samples a table is of.
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

std::string label(const Player& player) {
    return player.name + (player.full ? "" : "*");
}

using Cells = std::vector<const BenchCell*>;

/// The cells of a series by a player, in the order of the points.
Cells cells_of_player(const BenchReport& report, std::size_t series, std::size_t player) {
    Cells cells;
    for (const BenchCell& cell : report.cells) {
        if (cell.series == series && cell.player == player) cells.push_back(&cell);
    }
    return cells;
}

/// How far the samples of a row lie apart, where that is most.
std::string row_spread(const Cells& cells, const Metric& metric, Phase phase) {
    double worst = 0;
    for (const BenchCell* cell : cells) {
        const std::vector<double>* samples = samples_of(*cell, metric, phase);
        if (samples == nullptr) continue;
        const Spread s = spread(*samples);
        if (s.min > 0) worst = std::max(worst, s.max / s.min);
    }
    return worst == 0 ? kNoValue : fixed(worst, 2) + "x";
}

/// A metric of a series along its axis.
Table swept(const BenchReport& report, std::size_t number, const Metric& metric, Phase phase) {
    const Series& series = report.series[number];
    Table table{.title = series.title + ": " + phase_text(metric, phase) +
                         (metric.unit == "ms" ? " (ms, medians)" : " (medians)"),
                .columns = {{series.axis->title}},
                .rows = {}};
    for (const Point& point : series.points) {
        table.columns.push_back({position(point.x, *series.axis), true});
    }
    table.columns.push_back({"max/min", true});
    for (std::size_t p = 0; p < report.players.size(); ++p) {
        const Cells cells = cells_of_player(report, number, p);
        if (cells.empty()) continue;
        std::vector<std::string> row{label(report.players[p])};
        for (const BenchCell* cell : cells) {
            const std::vector<double>* samples = samples_of(*cell, metric, phase);
            row.push_back(samples != nullptr ? figure(spread(*samples).median, metric)
                                             : word(cell->result.outcome));
        }
        row.push_back(row_spread(cells, metric, phase));
        table.rows.push_back(std::move(row));
    }
    // The published figures are medians of 100 runs, of which one is cold.
    if (phase == &Samples::cold) return table;
    for (const PublishedRow& published : report.published) {
        if (published.series != series.id || published.metric != metric.name) continue;
        std::vector<std::string> row{published.device + ": " + published.name};
        for (const Point& point : series.points) {
            const auto at = std::find(published.x.begin(), published.x.end(), point.x);
            const bool known = at != published.x.end() &&
                               published.values[static_cast<std::size_t>(at - published.x.begin())];
            row.push_back(
                known ? three_digits(
                            *published.values[static_cast<std::size_t>(at - published.x.begin())])
                      : kNoValue);
        }
        row.emplace_back(kNoValue);
        table.rows.push_back(std::move(row));
    }
    return table;
}

/// All metrics of a series without an axis.
Table single(const BenchReport& report, std::size_t number) {
    const Series& series = report.series[number];
    Table table{.title = series.title, .columns = {{"allocator"}}, .rows = {}};
    for (const Metric& metric : series.metrics) {
        for (const Phase phase : phases(metric)) {
            const std::string unit = metric.unit == "1" ? "" : " " + metric.unit;
            table.columns.push_back({phase_text(metric, phase) + unit, true});
            if (metric.timed)
                table.columns.insert(table.columns.end(), {{"min", true}, {"max", true}});
        }
    }
    for (std::size_t p = 0; p < report.players.size(); ++p) {
        for (const BenchCell* cell : cells_of_player(report, number, p)) {
            std::vector<std::string> row{label(report.players[p])};
            for (const Metric& metric : series.metrics) {
                for (const Phase phase : phases(metric)) {
                    const std::vector<double>* samples = samples_of(*cell, metric, phase);
                    if (samples == nullptr) {
                        row.emplace_back(word(cell->result.outcome));
                        if (metric.timed) row.insert(row.end(), {kNoValue, kNoValue});
                        continue;
                    }
                    const Spread s = spread(*samples);
                    row.push_back(figure(s.median, metric));
                    if (metric.timed) {
                        row.insert(row.end(), {figure(s.min, metric), figure(s.max, metric)});
                    }
                }
            }
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

/// What went wrong, each message once with how often it came.
std::vector<std::string> remarks(const BenchReport& report) {
    std::vector<std::string> all;
    if (std::any_of(report.players.begin(), report.players.end(),
                    [](const Player& player) { return !player.full; })) {
        all.emplace_back("* no full allocator");
    }
    std::vector<std::pair<std::string, unsigned>> counted;
    for (const BenchCell& cell : report.cells) {
        if (cell.result.outcome == Outcome::done || cell.result.message.empty()) continue;
        const std::string text = report.series[cell.series].test + ", " +
                                 report.players[cell.player].name + ": " +
                                 word(cell.result.outcome) + ": " + cell.result.message;
        const auto seen = std::find_if(counted.begin(), counted.end(),
                                       [&](const auto& entry) { return entry.first == text; });
        if (seen == counted.end()) {
            counted.emplace_back(text, 1);
        } else {
            ++seen->second;
        }
    }
    for (const auto& [text, times] : counted) {
        all.push_back(text + (times > 1 ? " (" + std::to_string(times) + " times)" : ""));
    }
    return all;
}

Table device_table(const BenchReport& report) {
    return {.title = "",
            .columns = {{"device"}, {report.machine.text()}},
            .rows = {{"turns", std::to_string(report.run.repeat) +
                                   ", each of a cold iteration on a fresh pool and up to " +
                                   std::to_string(warm_iterations(report.run.settings)) +
                                   " warm ones"}}};
}

}  // namespace

std::vector<Table> bench_sections(const BenchReport& report) {
    std::vector<Table> tables;
    for (std::size_t number = 0; number < report.series.size(); ++number) {
        const Series& series = report.series[number];
        if (!series.axis) {
            tables.push_back(single(report, number));
            continue;
        }
        for (const Metric& metric : series.metrics) {
            for (const Phase phase : phases(metric)) {
                tables.push_back(swept(report, number, metric, phase));
            }
        }
    }
    return tables;
}

std::string as_text(const BenchReport& report, bool colour) {
    std::string text = as_text(device_table(report), false);
    for (const Table& table : bench_sections(report)) text += "\n" + as_text(table, colour);
    const std::vector<std::string> lines = remarks(report);
    if (!lines.empty()) text += "\n";
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

std::string as_markdown(const BenchReport& report) {
    std::string text = as_markdown(device_table(report)) + "\n";
    for (const Table& table : bench_sections(report)) text += as_markdown(table) + "\n";
    for (const std::string& line : remarks(report)) text += "- " + line + "\n";
    return text;
}

}  // namespace heapwood::app
