#include <algorithm>
#include <map>

#include "app/backends/allocator_options.h"
#include "app/inputs/input.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/workloads/bench_tables.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

/// The version of app/report/schemas/bench.schema.json; a reader may rely on it.
constexpr int kBenchSchema = 1;

/// A cell of bench in its report.
struct BenchOf {
    const BenchReport& report;
    const BenchCell& cell;

    const Series& series() const { return report.series[cell.series]; }
    const Runner& runner() const { return report.runners[cell.runner]; }
};

/// Whether something runs: the registers are what the compiler said.
bool runs(const BenchOf& b) {
    return b.series().test != "registers";
}

/// Which threads call.
const char* callers_text(const Task& task) {
    if (task.lanes == 1) return "warp";
    return task.lanes == 32 ? "thread" : "lanes";
}

/// The figures of a cell beside its metrics, in the order of JSON and CSV.
const FigureList<BenchOf>& bench_figures() {
    using allocators::Counts;
    using Of = BenchOf;
    const auto parameter = [](const char* name, auto member) {
        return plain<Of>(name, [=](const Of& b) { return b.cell.task.*member; });
    };
    const auto counted = [](const char* name, std::uint64_t Counts::*member) {
        return plain<Of>(
            name, [=](const Of& b) { return b.cell.result.counts.*member; }, false);
    };
    static const FigureList<Of> all{
        {"",
         [](const Of&) { return true; },
         {plain<Of>("series", [](const Of& b) { return b.series().id; }),
          plain<Of>("allocator", [](const Of& b) { return b.runner().name; }),
          plain<Of>("x", [](const Of& b) { return or_null(b.cell.x); }),
          plain<Of>("outcome", [](const Of& b) { return name(b.cell.result.outcome); }),
          plain<Of>("message", [](const Of& b) { return or_null(b.cell.result.message); })}},
        {"/parameters",
         runs,
         {plain<Of>("by", [](const Of& b) { return callers_text(b.cell.task); }),
          parameter("callers", &Task::callers), parameter("requests", &Task::requests),
          parameter("rounds", &Task::rounds), parameter("min_bytes", &Task::min_bytes),
          parameter("max_bytes", &Task::max_bytes), parameter("pool_bytes", &Task::pool_bytes),
          plain<Of>(
              "live_percent",
              [](const Of& b) { return b.cell.task.live > 0 ? Json(b.cell.task.live) : Json(); },
              false),
          plain<Of>(
              "edges",
              [](const Of& b) { return b.cell.task.edges > 0 ? Json(b.cell.task.edges) : Json(); },
              false),
          plain<Of>(
              "threshold",
              [](const Of& b) {
                  return b.cell.task.threshold > 0 ? Json(b.cell.task.threshold) : Json();
              },
              false)}},
        {"/counts",
         [](const Of& b) { return runs(b) && b.cell.result.outcome == Outcome::done; },
         {counted("requests", &Counts::requests), counted("frees", &Counts::frees),
          counted("failed", &Counts::failed), counted("corrupt", &Counts::corrupt)}}};
    return all;
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
    const auto add = [&](const Json& metric, const Json& unit, const Json& phase,
                         const std::vector<double>& samples) {
        const Json s = spread_json(samples);
        const auto known = [&s](const char* key) { return s.is_null() ? Json() : s.at(key); };
        Record record{{"test", series.test},
                      {"axis", series.axis ? Json(series.axis->name) : Json()}};
        append(record, bench_figures(), BenchOf{report, cell});
        record.insert(record.end(), {{"metric", metric},
                                     {"unit", unit},
                                     {"phase", phase},
                                     {"median", known("median")},
                                     {"min", known("min")},
                                     {"max", known("max")},
                                     {"samples", samples.empty() ? Json() : Json(samples.size())}});
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
    if (cell.result.metrics.empty()) add({}, {}, {}, {});
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
    if (s.sizes) json["sizes"] = *s.sizes;
    if (s.graph) json["graph"] = *s.graph;
    return json;
}

Json series_json(const Series& series) {
    const Json metrics = array_of(series.metrics, [](const Metric& metric) -> Json {
        return {{"name", metric.name},
                {"title", metric.title},
                {"unit", metric.unit},
                {"timed", metric.timed}};
    });
    Json axis;
    if (series.axis) {
        axis = {{"name", series.axis->name}, {"title", series.axis->title}, {"log", true}};
    }
    return {{"id", series.id},         {"test", series.test}, {"title", series.title},
            {"source", series.source}, {"x", axis},           {"metrics", metrics}};
}

Json published_json(const PublishedRow& row) {
    return {{"series", row.series}, {"name", row.name},
            {"device", row.device}, {"metric", row.metric},
            {"x", row.x},           {"values", array_of(row.values, or_null<double>)},
            {"source", row.source}};
}

/// What went wrong, each message once with the number of times that it came.
std::vector<Remark> remarks(const BenchReport& report) {
    std::vector<Remark> all;
    if (std::any_of(report.runners.begin(), report.runners.end(),
                    [](const Runner& runner) { return !runner.full; })) {
        all.push_back({kAsteriskRemark});
    }
    std::vector<std::string> texts;  // in the order of the cells
    std::map<std::string, unsigned> times;
    for (const BenchCell& cell : report.cells) {
        if (cell.result.outcome == Outcome::done || cell.result.message.empty()) continue;
        const std::string text = report.series[cell.series].test + ", " +
                                 report.runners[cell.runner].name + ": " +
                                 word(cell.result.outcome) + ": " + cell.result.message;
        if (++times[text] == 1) texts.push_back(text);
    }
    for (const std::string& text : texts) {
        const unsigned n = times[text];
        all.push_back({text + (n > 1 ? " (" + std::to_string(n) + " times)" : "")});
    }
    return all;
}

}  // namespace

Document document_of(const BenchReport& report) {
    Document document{.title = "heapwood bench", .tables = {}, .remarks = remarks(report)};
    add_tables(report, document);
    const Json runners = array_of(report.runners, [](const Runner& runner) -> Json {
        return {{"name", runner.name},
                {"title", runner.title},
                {"full", runner.full},
                {"baseline", runner.baseline()}};
    });
    Json cells = Json::array();
    for (const BenchCell& cell : report.cells) {
        cells.push_back(cell_json(report, cell));
        add_records(report, cell, document.records);
    }
    document.data = {{"schema", kBenchSchema},
                     {"kind", "bench"},
                     {"provenance", provenance(report)},
                     {"allocators", runners},
                     {"series", array_of(report.series, series_json)},
                     {"cells", cells}};
    if (report.asked_for_published) {
        document.data["published"] = array_of(report.published, published_json);
    }
    return document;
}

}  // namespace heapwood::app
