#include "app/measure/workloads/workload_plan.h"

#include <algorithm>
#include <utility>

#include "app/backends/allocator_options.h"
#include "app/base/log.h"
#include "app/inputs/input.h"
#include "app/measure/engine/worker.h"
#include "app/measure/workloads/workload_worker.h"

namespace heapwood::app {
namespace {

/// The numbers of the cells in the order of their turns.
std::vector<std::size_t> turn_order(const BenchReport& report) {
    std::vector<std::size_t> order(report.cells.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const BenchCell& x = report.cells[a];
        const BenchCell& y = report.cells[b];
        if (x.series != y.series) return x.series < y.series;
        if (report.series[x.series].descending && x.x != y.x) return x.x > y.x;
        return a < b;
    });
    return order;
}

}  // namespace

WorkloadPlan::WorkloadPlan(BenchReport& report, ReplayedTrace* trace)
    : report_(report), trace_(trace) {
    repeat = report.run.repeat;
    time_limit = report.run.time_limit;
    budget = report.run.time_limit;
    budget_of = "test";
    runners = report.runners;
    std::size_t test = 0;
    for (const std::size_t number : turn_order(report)) {
        const BenchCell& cell = report.cells[number];
        if (!cells.empty()) {
            const std::size_t last = report.cells[cells.back().number].series;
            if (report.series[last].test != report.series[cell.series].test) ++test;
        }
        cells.push_back({.number = number,
                         .runner = cell.runner,
                         .block = test,
                         .account = test,
                         .over = cell.result.outcome != Outcome::skipped});
    }
}

Json WorkloadPlan::identity() const {
    const SweepSettings& s = report_.run.settings;
    Json series = Json::array();
    for (const Series& one : report_.series) series.push_back(one.id);
    Json json{{"kind", trace_ != nullptr ? "replay" : "bench"},
              {"device", report_.provenance.machine.name},
              {"series", series},
              {"threads", report_.run.threads},
              {"forms", choices_json(s.choices)}};
    if (trace_ != nullptr) {
        json["trace"] = trace_->digest;
        json["pool"] = trace_->pool;
        if (trace_->pace > 0) json["pace"] = trace_->pace;
        return json;
    }
    json["quick"] = s.quick;
    json["pool"] = s.pool_bytes ? Json(*s.pool_bytes) : Json();
    json["largest"] = s.largest_bytes;
    if (!s.bytes.empty()) json["bytes"] = s.bytes;
    if (!s.callers.empty()) json["callers"] = s.callers;
    json["iterations"] = s.iterations ? Json(*s.iterations) : Json();
    json["seed"] = s.seed;
    if (s.sizes) json["sizes"] = s.sizes->digest;
    if (s.graph) json["graph"] = s.graph->digest;
    return json;
}

/// What a default pool has depends on what else runs on the machine.
Json WorkloadPlan::adopted() const {
    return trace_ != nullptr ? Json{{"pool_bytes", trace_->pool_bytes}} : Json::object();
}

void WorkloadPlan::adopt(const Json& adopted) {
    if (trace_ == nullptr) return;
    trace_->pool_bytes = whole_number<std::uint64_t>(adopted.at("pool_bytes"));
    if (trace_->pool_bytes == 0) throw std::invalid_argument("a pool of 0 bytes");
    for (BenchCell& cell : report_.cells) {
        cell.task.pool_bytes = std::max(trace_->pool_bytes,
                                        report_.runners[cell.runner].backend->traits.smallest_pool);
    }
}

Setting WorkloadPlan::setting(const CellState& cell) const {
    if (trace_ != nullptr) return loading(trace_->path, trace_->digest, trace_->seconds);
    const SweepSettings& s = report_.run.settings;
    if (s.graph && has_graph(report_.cells[cell.number].task.procedure)) {
        return loading({{"graph", s.graph->path}}, s.graph->digest, s.graph->seconds);
    }
    const SizesFile sizes = s.sizes.value_or(SizesFile{});
    return loading(sizes.path, sizes.digest, sizes.seconds);
}

Request WorkloadPlan::request(const CellState& cell) const {
    const Task& task = report_.cells[cell.number].task;
    // A heap may be larger than asked for, unless it is to be filled.
    return {.work = task,
            .heap_bytes = task.pool_bytes,
            .exact_heap = task.procedure == Procedure::fill};
}

std::string WorkloadPlan::label(const CellState& cell) const {
    return report_.series[report_.cells[cell.number].series].id;
}

namespace {

/// @throws std::invalid_argument for what no worker answers.
void check_turn(const TaskResult& turn) {
    bool sound = can_end(of_workload, turn.outcome) &&
                 (turn.counts.corrupt == 0 || turn.outcome == Outcome::corrupt);
    for (const auto& [metric, samples] : turn.metrics) {
        for (const double value : samples.value) {
            if (metric.ends_with("external")) sound = sound && value <= 1;
            if (metric == "callers") sound = sound && value >= 1;
        }
    }
    if (!sound) throw std::invalid_argument("no workload's turn");
}

}  // namespace

Outcome WorkloadPlan::add(const CellState& cell, const Answer& answer) {
    TaskResult turn{.outcome = answer.outcome, .message = answer.message};
    if (!answer.sample.is_null()) {
        answer.sample.get_to(turn);
        check_turn(turn);
    }
    const Outcome outcome = turn.outcome;
    add_turn(report_.cells[cell.number], std::move(turn));
    return outcome;
}

void WorkloadPlan::pass_over(const CellState& cell, const std::string& why) {
    BenchCell& of = report_.cells[cell.number];
    if (of.turns == 0) of.result.message = why;
}

void WorkloadPlan::end() {
    for (BenchCell& cell : report_.cells) {
        const bool untold = cell.result.outcome == Outcome::skipped && cell.result.message.empty();
        if (untold) cell.result.message = "interrupted";
        if (exit_code(cell.result.outcome) == ExitCode::verification_failed ||
            cell.result.outcome == Outcome::failed || cell.result.outcome == Outcome::crashed) {
            log::error(report_.series[cell.series].id + ", " + report_.runners[cell.runner].name +
                       ": " + cell.result.message);
        }
    }
}

}  // namespace heapwood::app
