/// @file
/// `bench` for programs: JSON and CSV.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/base/version.h"
#include "app/report/bench_printers.h"
#include "app/report/json_parts.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// The version of app/report/schemas/bench.schema.json; a reader may rely on it.
constexpr int kSchema = 1;

Json known(bool is_known, const Json& value) {
    return is_known ? value : Json();
}

Json provenance(const BenchReport& report) {
    const SweepSettings& s = report.run.settings;
    Json json = origin_json(report.arguments, report.machine);
    json.update({{"setting", s.quick ? "quick" : "default"},
                 {"pool_bytes", s.pool_bytes.value_or(default_bench_pool(s))},
                 {"largest_bytes", s.largest_bytes},
                 {"forms", choices_json(s.choices)},
                 {"repeat", report.run.repeat},
                 {"iterations", warm_iterations(s)},
                 {"time_limit_s", report.run.time_limit},
                 {"seed", s.seed},
                 {"date", report.date}});
    return json;
}

Json series_json(const Series& series) {
    Json metrics = Json::array();
    for (const Metric& metric : series.metrics) {
        metrics.push_back({{"name", metric.name},
                           {"title", metric.title},
                           {"unit", metric.unit},
                           {"timed", metric.timed}});
    }
    Json axis;
    if (series.axis)
        axis = {{"name", series.axis->name}, {"title", series.axis->title}, {"log", true}};
    return {{"id", series.id},         {"test", series.test}, {"title", series.title},
            {"source", series.source}, {"x", axis},           {"metrics", metrics}};
}

Json samples_json(const std::vector<double>& samples) {
    if (samples.empty()) return {};
    const Spread s = spread(samples);
    return {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"samples", samples}};
}

/// Which threads call.
const char* callers_text(const Task& task) {
    if (task.by_warp || task.lanes == 1) return "warp";
    return task.lanes == 32 ? "thread" : "lanes";
}

Json cell_json(const BenchReport& report, const BenchCell& cell) {
    const Task& t = cell.task;
    const TaskResult& r = cell.result;
    const bool runs = report.series[cell.series].test != "registers";
    Json metrics = Json::object();
    for (const auto& [name, samples] : r.metrics) {
        if (samples.value.empty()) {
            metrics[name] = {{"cold", samples_json(samples.cold)},
                             {"warm", samples_json(samples.warm)}};
        } else {
            metrics[name] = {{"value", samples_json(samples.value)}};
        }
    }
    const Json parameters{
        {"by", callers_text(t)},      {"callers", t.callers},
        {"requests", t.requests},     {"rounds", t.rounds},
        {"min_bytes", t.min_bytes},   {"max_bytes", t.max_bytes},
        {"pool_bytes", t.pool_bytes}, {"threshold", known(t.threshold > 0, t.threshold)}};
    const Json counts{{"requests", r.counts.requests},
                      {"frees", r.counts.frees},
                      {"failed", r.counts.failed},
                      {"corrupt", r.counts.corrupt}};
    return {{"series", report.series[cell.series].id},
            {"allocator", report.players[cell.player].name},
            {"x", known(cell.x.has_value(), cell.x.value_or(0))},
            {"outcome", name(r.outcome)},
            {"message", known(!r.message.empty(), r.message)},
            {"parameters", known(runs, parameters)},
            {"counts", known(runs && r.outcome == Outcome::done, counts)},
            {"metrics", metrics}};
}

Json published_json(const PublishedRow& row) {
    Json values = Json::array();
    for (const auto& value : row.values)
        values.push_back(known(value.has_value(), value.value_or(0)));
    return {{"series", row.series}, {"name", row.name}, {"device", row.device},
            {"metric", row.metric}, {"x", row.x},       {"values", values},
            {"source", row.source}};
}

/// A number of a spreadsheet, or an empty cell.
std::string number(double value) {
    return shortest(value);
}

}  // namespace

Json origin_json(const std::vector<std::string>& arguments, const Machine& m) {
    const Version& v = version();
    return {{"arguments", arguments},
            {"version", v.version},
            {"git", v.git},
            {"build_type", v.build_type},
            {"compiler", v.compiler},
            {"cuda", known(*v.cuda != '\0', v.cuda)},
            {"device", m.name},
            {"device_kind", m.gpu ? "gpu" : "cpu"},
            {"device_units", m.units},
            {"driver", known(m.gpu, m.driver)},
            {"runtime", known(m.gpu, m.runtime)}};
}

std::string as_json(const BenchReport& report) {
    Json players = Json::array();
    for (const Player& player : report.players) {
        players.push_back({{"name", player.name},
                           {"title", player.title},
                           {"full", player.full},
                           {"baseline", player.baseline()}});
    }
    Json series = Json::array();
    for (const Series& one : report.series) series.push_back(series_json(one));
    Json cells = Json::array();
    for (const BenchCell& cell : report.cells) cells.push_back(cell_json(report, cell));
    Json json{{"schema", kSchema},     {"kind", "bench"},  {"provenance", provenance(report)},
              {"allocators", players}, {"series", series}, {"cells", cells}};
    if (report.asked_for_published) {
        Json published = Json::array();
        for (const PublishedRow& row : report.published) published.push_back(published_json(row));
        json["published"] = published;
    }
    return document(json);
}

std::string as_csv(const BenchReport& report) {
    Table table{.title = "",
                .columns = {{"series"},    {"test"},      {"allocator"},  {"axis"},    {"x"},
                            {"outcome"},   {"message"},   {"by"},         {"callers"}, {"requests"},
                            {"min_bytes"}, {"max_bytes"}, {"pool_bytes"}, {"metric"},  {"unit"},
                            {"phase"},     {"median"},    {"min"},        {"max"},     {"samples"}},
                .rows = {}};
    for (const BenchCell& cell : report.cells) {
        const Series& series = report.series[cell.series];
        const Task& t = cell.task;
        const bool runs = series.test != "registers";
        const auto parameter = [runs](std::uint64_t value) {
            return runs ? std::to_string(value) : "";
        };
        const std::vector<std::string> begin{series.id,
                                             series.test,
                                             report.players[cell.player].name,
                                             series.axis ? series.axis->name : "",
                                             cell.x ? number(*cell.x) : "",
                                             name(cell.result.outcome),
                                             cell.result.message,
                                             runs ? callers_text(t) : "",
                                             parameter(t.callers),
                                             parameter(t.requests),
                                             parameter(t.min_bytes),
                                             parameter(t.max_bytes),
                                             parameter(t.pool_bytes)};
        const auto add = [&](const std::vector<std::string>& rest) {
            table.rows.push_back(begin);
            table.rows.back().insert(table.rows.back().end(), rest.begin(), rest.end());
        };
        for (const Metric& metric : series.metrics) {
            const auto found = cell.result.metrics.find(metric.name);
            if (found == cell.result.metrics.end()) continue;
            const auto phase = [&](const char* title, const std::vector<double>& samples) {
                if (samples.empty()) return;
                const Spread s = spread(samples);
                add({metric.name, metric.unit, title, number(s.median), number(s.min),
                     number(s.max), std::to_string(samples.size())});
            };
            phase("cold", found->second.cold);
            phase("warm", found->second.warm);
            phase("value", found->second.value);
        }
        if (cell.result.metrics.empty()) add({"", "", "", "", "", "", ""});
    }
    return as_csv(table);
}

}  // namespace heapwood::app
