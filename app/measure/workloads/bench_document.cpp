#include <algorithm>
#include <map>

#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/inputs/input.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/workloads/bench_tables.h"
#include "app/report/documents.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

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

/// A number above zero; nothing for zero.
template <class T>
std::optional<T> if_any(T value) {
    return value > 0 ? std::optional(value) : std::nullopt;
}

FigureGroup<BenchOf, BenchOf> parameters_group() {
    using Of = BenchOf;
    const auto parameter = [](const char* name, auto member, const Json& more) {
        return plain<Of>(name, [=](const Of& b) { return b.cell.task.*member; }).with(more);
    };
    Figure<Of, Of> callers =
        plain<Of>("by", [](const Of& b) { return callers_text(b.cell.task); })
            .about(
                "which threads are callers: all, the first lane of each warp, or its first x "
                "lanes");
    callers.schema["enum"] = {"thread", "warp", "lanes"};
    return {"/parameters",
            runs,
            {callers, parameter("callers", &Task::callers, at_least(1)),
             parameter("requests", &Task::requests, at_least(1)),
             parameter("rounds", &Task::rounds, at_least(1)),
             parameter("min_bytes", &Task::min_bytes, at_least(4)),
             parameter("max_bytes", &Task::max_bytes, at_least(4)),
             parameter("pool_bytes", &Task::pool_bytes, at_least(1)),
             plain<Of>(
                 "live_percent", [](const Of& b) { return if_any(b.cell.task.live); }, false)
                 .with({{"minimum", 1}, {"maximum", 100}})
                 .about("of churn: the live set that is wanted, of the pool")
                 .newer(),
             plain<Of>(
                 "edges", [](const Of& b) { return if_any(b.cell.task.edges); }, false)
                 .with(at_least(1))
                 .about("of graph-update: a batch's")
                 .newer(),
             plain<Of>(
                 "threshold", [](const Of& b) { return if_any(b.cell.task.threshold); }, false)
                 .about("of P: a step acts if its die is above")}};
}

/// The figures of a cell beside its metrics, in the order of JSON and CSV.
const FigureList<BenchOf>& bench_figures() {
    using allocators::Counts;
    using Of = BenchOf;
    const auto counted = [](const char* name, std::uint64_t Counts::*member) {
        return plain<Of>(
            name, [=](const Of& b) { return b.cell.result.counts.*member; }, false);
    };
    static const FigureList<Of> all{
        {"",
         {},
         {plain<Of>("series", [](const Of& b) { return b.series().id; }).about("its id"),
          plain<Of>("allocator", [](const Of& b) { return b.runner().name; }),
          plain<Of>("x", [](const Of& b) { return b.cell.x; }),
          plain<Of>("outcome", [](const Of& b) { return name(b.cell.result.outcome); })
              .with(one_of(outcome_names(of_workload | of_process, {Outcome::skipped}))),
          plain<Of>("message", [](const Of& b) { return text_or_none(b.cell.result.message); })
              .about("why, if not done")}},
        parameters_group(),
        {"/counts",
         [](const Of& b) { return runs(b) && b.cell.result.outcome == Outcome::done; },
         {counted("requests", &Counts::requests), counted("frees", &Counts::frees),
          counted("failed", &Counts::failed),
          counted("corrupt", &Counts::corrupt).with({{"maximum", 0}})},
         {},
         "of the last iteration, in which all is counted and checked; of churn: of a whole turn; "
         "of "
         "graph-update: the arrays that were exchanged"}};
    return all;
}

/// Of times cold and warm iterations; of other metrics the values.
Shape<Samples> times_shape() {
    Shape<Samples> shape;
    shape.object("cold", samples_shape(), [](const Samples& s) { return samples_or_none(s.cold); })
        .object("warm", samples_shape(), [](const Samples& s) { return samples_or_none(s.warm); });
    return shape;
}
Shape<Samples> values_shape() {
    Shape<Samples> shape;
    shape.object("value", samples_shape(), [](const Samples& s) { return s.value; });
    return shape;
}

Json metrics_json(const BenchOf& b) {
    static const Shape<Samples> times = times_shape();
    static const Shape<Samples> values = values_shape();
    Json metrics = Json::object();
    for (const auto& [name, samples] : b.cell.result.metrics) {
        metrics[name] = (samples.value.empty() ? times : values).json(samples);
    }
    return metrics;
}

Shape<BenchOf> cell_shape() {
    const Json samples{{"anyOf", {times_shape().schema(), values_shape().schema()}}};
    Shape<BenchOf> shape;
    shape.all_of(bench_figures(), [](const BenchOf& b) { return b; })
        .put("metrics", {{"type", "object"}, {"additionalProperties", samples}}, metrics_json,
             "by name; empty unless done");
    return shape;
}

/// A row for each metric and phase of the cell, or one without figures.
void add_records(const BenchReport& report, const BenchCell& cell, Table& records) {
    const Series& series = report.series[cell.series];
    const auto add = [&](const Json& metric, const Json& unit, const Json& phase,
                         const std::vector<double>& samples) {
        const auto known = [&](double Spread::*which) {
            return samples.empty() ? Json() : Json(spread(samples).*which);
        };
        Record record{{"test", series.test},
                      {"axis", series.axis ? Json(series.axis->name) : Json()}};
        append(record, bench_figures(), BenchOf{report, cell});
        record.insert(record.end(), {{"metric", metric},
                                     {"unit", unit},
                                     {"phase", phase},
                                     {"median", known(&Spread::median)},
                                     {"min", known(&Spread::min)},
                                     {"max", known(&Spread::max)},
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

Shape<BenchReport> bench_provenance() {
    using Of = BenchReport;
    Shape<Of> shape;
    shape.all_of(origin_shape(), [](const Of& r) { return r.provenance; })
        .choice("setting", Json{"default", "quick"},
                [](const Of& r) { return r.run.settings.quick ? "quick" : "default"; })
        .field(
            "pool_bytes",
            [](const Of& r) {
                return r.run.settings.pool_bytes.value_or(default_bench_pool(r.run.settings));
            },
            "of the tests of 2021", at_least(1))
        .field(
            "largest_bytes", [](const Of& r) { return r.run.settings.largest_bytes; }, "",
            at_least(16));
    add_forms(shape,
              [](const Of& r) -> const allocators::Choices& { return r.run.settings.choices; });
    shape
        .field(
            "repeat", [](const Of& r) { return r.run.repeat; },
            "turns at each point, a fresh pool in each", at_least(1))
        .field(
            "iterations", [](const Of& r) { return warm_iterations(r.run.settings); },
            "most warm iterations of a turn", at_least(1))
        .field("time_limit_s", [](const Of& r) { return r.run.time_limit; })
        .field("seed", [](const Of& r) { return r.run.settings.seed; })
        .field("date", [](const Of& r) { return r.provenance.date; }, "",
               {{"pattern", kDatePattern}})
        .object(
            "sizes", sizes_shape(), [](const Of& r) { return r.run.settings.sizes; },
            "with --sizes: the trace whose requests' sizes churn has")
        .if_known()
        .object(
            "graph", graph_shape(), [](const Of& r) { return r.run.settings.graph; },
            "with --graph: the Matrix Market file whose graph the graph tests have")
        .if_known();
    return shape;
}

Shape<Runner> runner_shape() {
    Shape<Runner> shape;
    shape.field("name", [](const Runner& r) { return r.name; })
        .field("title", [](const Runner& r) { return r.title; })
        .field("full", [](const Runner& r) { return r.full; })
        .field(
            "baseline", [](const Runner& r) { return r.baseline(); },
            "no allocator: the same work by a prefix sum");
    return shape;
}

Shape<Series> series_shape() {
    std::vector<std::string> tests;
    for (const TestName& test : test_names()) tests.push_back(test.name);
    Shape<Axis> axis;
    axis.field("name", [](const Axis& a) { return a.name; })
        .field("title", [](const Axis& a) { return a.title; })
        .constant("log", true);
    Shape<Metric> metric;
    metric.field("name", [](const Metric& m) { return m.name; })
        .field("title", [](const Metric& m) { return m.title; })
        .choice("unit", Json{"ms", "ns", "cycles", "M/s", "B", "%", "1"},
                [](const Metric& m) { return m.unit; })
        .field(
            "timed", [](const Metric& m) { return m.timed; },
            "has cold and warm samples; else values");
    Shape<Series> shape;
    shape
        .field("id", [](const Series& s) { return s.id; }, "",
               {{"pattern", "^[a-z-]+(\\.[a-z0-9-]+)*$"}})
        .choice("test", tests, [](const Series& s) { return s.test; })
        .field("title", [](const Series& s) { return s.title; })
        .field(
            "source", [](const Series& s) { return s.source; }, "paper and figure")
        .object("x", axis, [](const Series& s) { return s.axis; })
        .array(
            "metrics", metric, [](const Series& s) -> const auto& { return s.metrics; }, "", 1);
    return shape;
}

Shape<PublishedRow> published_shape() {
    using Of = PublishedRow;
    Shape<Of> shape;
    shape.field("series", [](const Of& r) { return r.series; })
        .field("name", [](const Of& r) { return r.name; })
        .field("device", [](const Of& r) { return r.device; })
        .field("metric", [](const Of& r) { return r.metric; })
        .field("x", [](const Of& r) { return r.x; }, "", {{"minItems", 1}})
        .field("values", [](const Of& r) { return r.values; }, "", {{"minItems", 1}})
        .field("source", [](const Of& r) { return r.source; });
    return shape;
}

std::vector<BenchOf> bench_cells(const BenchReport& report) {
    std::vector<BenchOf> cells;
    for (const BenchCell& cell : report.cells) cells.push_back({report, cell});
    return cells;
}

const Shape<BenchReport>& bench_shape() {
    static const Shape<BenchReport> shape = [] {
        using Of = BenchReport;
        Shape<Of> all;
        all.constant("schema", kSchema)
            .constant("kind", "bench")
            .object(
                "provenance", bench_provenance(), [](const Of& r) -> const Of& { return r; },
                "where the figures come from")
            .array(
                "allocators", runner_shape(), [](const Of& r) -> const auto& { return r.runners; },
                "", 1)
            .array(
                "series", series_shape(), [](const Of& r) -> const auto& { return r.series; },
                "a sweep each", 1)
            .array("cells", cell_shape(), bench_cells, "an allocator at a point of a series each")
            .put(
                "published", array_schema(published_shape().schema()),
                [row = published_shape()](const Of& r) {
                    if (!r.asked_for_published) return Json();
                    return array_of(r.published,
                                    [&](const PublishedRow& one) { return row.json(one); });
                },
                "with --published")
            .if_known();
        return all;
    }();
    return shape;
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
    for (const BenchCell& cell : report.cells) add_records(report, cell, document.records);
    document.data = bench_shape().json(report);
    return document;
}

Json bench_schema() {
    return document_schema("Heapwood's report of measurements (heapwood bench --json)",
                           bench_shape());
}

}  // namespace heapwood::app
