#include "app/report/bench_document.h"

#include <algorithm>

#include "app/backends/allocator_options.h"
#include "app/measure/result_json.h"
#include "app/report/cells.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/bench.schema.json; a reader may rely on it.
constexpr int kBenchSchema = 1;

/// Whether something runs: the registers are what the compiler said.
bool runs(const BenchOf& b) {
    return b.report.series[b.cell.series].test != "registers";
}

/// Which threads call.
const char* callers_text(const Task& task) {
    if (task.by_warp || task.lanes == 1) return "warp";
    return task.lanes == 32 ? "thread" : "lanes";
}

template <class Get>
Figure<BenchOf, BenchOf> figure(const char* key, const char* name, Get get) {
    return {key, name, name, Unit::word, [=](const BenchOf& b) { return Json(get(b)); }};
}

/// One of the parameters.
template <class T>
Figure<BenchOf, BenchOf> parameter(const char* name, T Task::*member) {
    return figure(name, name, [=](const BenchOf& b) { return b.cell.task.*member; });
}

Figure<BenchOf, BenchOf> counted(const char* name, std::uint64_t allocators::Counts::*member) {
    return figure("", name, [=](const BenchOf& b) { return b.cell.result.counts.*member; });
}

FigureList<BenchOf> made_bench_figures() {
    using allocators::Counts;
    return {
        {"",
         [](const BenchOf&) { return true; },
         {figure("series", "series",
                 [](const BenchOf& b) { return b.report.series[b.cell.series].id; }),
          figure("allocator", "allocator",
                 [](const BenchOf& b) { return b.report.runners[b.cell.runner].name; }),
          figure("x", "x", [](const BenchOf& b) { return b.cell.x ? Json(*b.cell.x) : Json(); }),
          figure("outcome", "outcome",
                 [](const BenchOf& b) { return name(b.cell.result.outcome); }),
          figure("message", "message",
                 [](const BenchOf& b) {
                     const std::string& why = b.cell.result.message;
                     return why.empty() ? Json() : Json(why);
                 })}},
        {"/parameters",
         runs,
         {figure("by", "by", [](const BenchOf& b) { return callers_text(b.cell.task); }),
          parameter("callers", &Task::callers), parameter("requests", &Task::requests),
          parameter("rounds", &Task::rounds), parameter("min_bytes", &Task::min_bytes),
          parameter("max_bytes", &Task::max_bytes), parameter("pool_bytes", &Task::pool_bytes),
          figure("", "threshold",
                 [](const BenchOf& b) {
                     return b.cell.task.threshold > 0 ? Json(b.cell.task.threshold) : Json();
                 })}},
        {"/counts",
         [](const BenchOf& b) { return runs(b) && b.cell.result.outcome == Outcome::done; },
         {counted("requests", &Counts::requests), counted("frees", &Counts::frees),
          counted("failed", &Counts::failed), counted("corrupt", &Counts::corrupt)}}};
}

Json cell_json(const BenchReport& report, const BenchCell& cell) {
    Json json = json_of(bench_figures(), BenchOf{report, cell});
    Json metrics = Json::object();
    for (const auto& [name, samples] : cell.result.metrics) {
        if (samples.value.empty()) {
            metrics[name] = {{"cold", spread_json(samples.cold)},
                             {"warm", spread_json(samples.warm)}};
        } else {
            metrics[name] = {{"value", spread_json(samples.value)}};
        }
    }
    json["metrics"] = metrics;
    return json;
}

/// A row for each metric and phase of the cell, or one without figures.
void add_records(const BenchReport& report, const BenchCell& cell, Table& records) {
    const Series& series = report.series[cell.series];
    const auto add = [&](const Json& metric, const Json& unit, const char* phase,
                         const std::vector<double>& samples) {
        const bool known = !samples.empty();
        const Spread s = known ? spread(samples) : Spread{};
        Record record{{"test", series.test},
                      {"axis", series.axis ? Json(series.axis->name) : Json()}};
        append(record, bench_figures(), BenchOf{report, cell});
        record.insert(record.end(), {{"metric", metric},
                                     {"unit", unit},
                                     {"phase", known ? Json(phase) : Json()},
                                     {"median", known ? Json(s.median) : Json()},
                                     {"min", known ? Json(s.min) : Json()},
                                     {"max", known ? Json(s.max) : Json()},
                                     {"samples", known ? Json(samples.size()) : Json()}});
        add_record(records, record);
    };
    for (const Metric& metric : series.metrics) {
        const auto found = cell.result.metrics.find(metric.name);
        if (found == cell.result.metrics.end()) continue;
        const Samples& s = found->second;
        if (!s.cold.empty()) add(metric.name, metric.unit, "cold", s.cold);
        if (!s.warm.empty()) add(metric.name, metric.unit, "warm", s.warm);
        if (!s.value.empty()) add(metric.name, metric.unit, "value", s.value);
    }
    if (cell.result.metrics.empty()) add(Json(), Json(), "", {});
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
    if (series.axis) {
        axis = {{"name", series.axis->name}, {"title", series.axis->title}, {"log", true}};
    }
    return {{"id", series.id},         {"test", series.test}, {"title", series.title},
            {"source", series.source}, {"x", axis},           {"metrics", metrics}};
}

Json published_json(const std::vector<PublishedRow>& rows) {
    Json all = Json::array();
    for (const PublishedRow& row : rows) {
        Json values = Json::array();
        for (const auto& value : row.values) values.push_back(value ? Json(*value) : Json());
        all.push_back({{"series", row.series},
                       {"name", row.name},
                       {"device", row.device},
                       {"metric", row.metric},
                       {"x", row.x},
                       {"values", values},
                       {"source", row.source}});
    }
    return all;
}

/// What went wrong, each message once with the number of times that it came.
std::vector<Remark> remarks(const BenchReport& report) {
    std::vector<Remark> all;
    if (std::any_of(report.runners.begin(), report.runners.end(),
                    [](const Runner& runner) { return !runner.full; })) {
        all.push_back({kAsteriskRemark});
    }
    std::vector<std::pair<std::string, unsigned>> counted;
    for (const BenchCell& cell : report.cells) {
        if (cell.result.outcome == Outcome::done || cell.result.message.empty()) continue;
        const std::string text = report.series[cell.series].test + ", " +
                                 report.runners[cell.runner].name + ": " +
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
        all.push_back({text + (times > 1 ? " (" + std::to_string(times) + " times)" : "")});
    }
    return all;
}

}  // namespace

const FigureList<BenchOf>& bench_figures() {
    static const FigureList<BenchOf> all = made_bench_figures();
    return all;
}

Document document_of(const BenchReport& report) {
    Document document{.title = "heapwood bench",
                      .tables = bench_tables(report),
                      .plots = bench_plots(report),
                      .remarks = remarks(report)};
    Json runners = Json::array();
    for (const Runner& runner : report.runners) {
        runners.push_back({{"name", runner.name},
                           {"title", runner.title},
                           {"full", runner.full},
                           {"baseline", runner.baseline()}});
    }
    Json series = Json::array();
    for (const Series& one : report.series) series.push_back(series_json(one));
    Json cells = Json::array();
    for (const BenchCell& cell : report.cells) {
        cells.push_back(cell_json(report, cell));
        add_records(report, cell, document.records);
    }
    document.data = {
        {"schema", kBenchSchema}, {"kind", "bench"},  {"provenance", provenance(report)},
        {"allocators", runners},  {"series", series}, {"cells", cells}};
    if (report.asked_for_published) document.data["published"] = published_json(report.published);
    return document;
}

}  // namespace heapwood::app
