#include "app/measure/builds/build_plan.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "app/backends/allocator_options.h"
#include "app/backends/registers.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/builds/build_worker.h"
#include "app/measure/builds/pool_search.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/engine/worker.h"

namespace heapwood::app {
namespace {

bool same_file(const std::string& a, const std::string& b) {
    std::error_code not_there;
    return a == b || std::filesystem::equivalent(a, b, not_there);
}

Request request_of(const MeasureOptions& options) {
    return {.work = options, .heap_bytes = options.run.pool_bytes};
}

}  // namespace

BuildPlan::BuildPlan(Comparison& comparison, const std::vector<const Backend*>& backends)
    : comparison_(comparison) {
    const ComparisonOptions& options = comparison.options;
    repeat = comparison.common.options.run.repeat;
    time_limit = options.time_limit;
    if (options.budget > 0) budget = options.budget;
    budget_of = "scene";
    for (const Backend* backend : backends) runners.push_back(runner_of(*backend));
    for (const PoolSize& pool : options.pools) {
        const bool first = pools_.emplace(pool.text(), pool).second;
        if (first) comparison.pools.push_back(pool.text());
    }
    if (pools_.empty()) comparison.pools.emplace_back("default");
    for (const std::string& path : options.scenes) load_scene(path);
    for (std::size_t scene = 0; scene < comparison.scenes.size(); ++scene) {
        for (const std::string& pool : comparison.pools) make_group(scene, pool);
    }
}

/// Unless it is there under this name or another.
void BuildPlan::load_scene(const std::string& path) {
    for (const Report& other : comparison_.scenes) {
        if (same_file(path, other.scene_path)) return;
    }
    show_progress("loading " + path);
    const auto start = std::chrono::steady_clock::now();
    const scenes::Scene scene = scenes::load(path, comparison_.common.options.run.threads);
    comparison_.scenes.push_back(comparison_.common);
    describe(comparison_.scenes.back(), scene);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    copies_.emplace_back(scene);
    settings_.push_back(
        loading(copies_.back().where(), hex(comparison_.scenes.back().scene_digest), took.count()));
}

void BuildPlan::make_group(std::size_t scene, const std::string& pool) {
    Group group{
        .scene = scene, .pool = pool, .report = comparison_.scenes[scene], .baseline_pool = ""};
    for (std::size_t i = 0; i < runners.size(); ++i) {
        const Backend& backend = *runners[i].backend;
        const bool single = backend.method == Method::single;
        // A pool that no machine has is found out before the work begins.
        pool_bytes(group, backend);
        Result& r = group.report.results.emplace_back(result_of(backend));
        r.outcome = Outcome::unfinished;
        if (backend.gpu && single) {
            r.kernels = find_registers(kernel_table(), r.allocator.name,
                                       comparison_.common.provenance.machine.architecture);
        }
        cells.push_back({.number = cells.size(),
                         .runner = i,
                         .block = comparison_.groups.size(),
                         .account = scene,
                         .work = static_cast<double>(group.report.triangles),
                         .searched = !comparison_.common.options.minimal_pool || !single});
    }
    comparison_.groups.push_back(std::move(group));
}

Json BuildPlan::identity() const {
    const Report& common = comparison_.common;
    const RunOptions& run = common.options.run;
    Json scenes = Json::array();
    for (const Report& scene : comparison_.scenes) {
        scenes.push_back({scene.scene_path, hex(scene.scene_digest)});
    }
    return {{"kind", "compare"},
            {"device", common.provenance.machine.name},
            {"scenes", scenes},
            {"pools", comparison_.pools},
            {"warm_up", run.warm_up},
            {"threads", run.threads},
            {"forms", choices_json(run.choices)},
            {"arrays", common.options.config.small_arrays ? "every" : "large"},
            {"host_pool", keeps_memory(common)},
            {"statistics", run.statistics},
            {"heap_map", run.heap_map},
            {"verify", common.options.verify},
            {"minimal_pool", common.options.minimal_pool},
            {"configuration", configuration_json(common)}};
}

/// What a default pool may have depends on what else runs on the machine.
Json BuildPlan::adopted() const {
    return {{"memory", comparison_.common.provenance.machine.memory}};
}

void BuildPlan::adopt(const Json& adopted) {
    const auto memory = whole_number<std::uint64_t>(adopted.at("memory"));
    comparison_.common.provenance.machine.memory = memory;
    for (Report& scene : comparison_.scenes) scene.provenance.machine.memory = memory;
}

std::uint64_t BuildPlan::pool_bytes(const Group& group, const Backend& backend) const {
    if (backend.method != Method::single) return 0;
    const auto chosen = pools_.find(group.pool);
    if (chosen != pools_.end()) return chosen->second.bytes_for(group.report.root_bytes);
    return default_pool_bytes(group.report.root_bytes, comparison_.common.provenance.machine.memory,
                              backend.traits.smallest_pool);
}

Setting BuildPlan::setting(const CellState& cell) const {
    return settings_[group(cell).scene];
}

Request BuildPlan::request(const CellState& cell) const {
    const bool first = cell.turns == 0;
    MeasureOptions options = comparison_.common.options;
    options.run.pool_bytes = pool_bytes(group(cell), backend(cell));
    options.run.repeat = 1;
    options.run.statistics = first && options.run.statistics;
    options.verify = first && options.verify;
    return request_of(options);
}

std::string BuildPlan::label(const CellState& cell) const {
    const Group& of = group(cell);
    return "pool " + of.pool + ", " + of.report.scene_path + " (" + std::to_string(of.scene + 1) +
           " of " + std::to_string(comparison_.scenes.size()) + ")";
}

/// An answer as a result.
Result BuildPlan::turn(const CellState& cell, const Answer& answer) const {
    if (!answer.sample.is_null()) return read_result(answer.sample, backend(cell));
    Result failed = result_of(backend(cell));
    failed.built.pool_bytes = pool_bytes(group(cell), backend(cell));
    failed.fail(answer.outcome, answer.message);
    return failed;
}

Outcome BuildPlan::add(const CellState& cell, const Answer& answer) {
    Result one = turn(cell, answer);
    if (!answer.sample.is_null() &&
        (!can_end(of_build, one.outcome) || one.built.milliseconds.size() > 1)) {
        throw std::invalid_argument("no turn of one build");
    }
    const Group& of = group(cell);
    if (one.outcome != Outcome::done && repeat > 1) {
        one.message +=
            " (turn " + std::to_string(cell.turns + 1) + " of " + std::to_string(repeat) + ")";
    }
    Result& all = result(cell);
    add_turn(all, std::move(one), repeat);
    if (all.outcome == Outcome::done || !settled(all)) return Outcome::done;
    log::detail(of.report.scene_path + ", pool " + of.pool + ", " + all.allocator.name + ": " +
                all.message);
    return all.outcome;
}

void BuildPlan::pass_over(const CellState& cell, const std::string& why) {
    Result& r = result(cell);
    if (r.built.milliseconds.empty()) {
        r.fail(Outcome::skipped, why);
    } else {
        r.outcome = Outcome::done;
    }
}

Json BuildPlan::search(const CellState& cell, const Probe& probe) {
    if (result(cell).outcome != Outcome::done) return {};
    const std::uint64_t high = pool_bytes(group(cell), backend(cell));
    for (const Group& other : comparison_.groups) {
        const auto& known = other.report.results[cell.runner].minimal_pool_bytes;
        // It does not depend on where the search began.
        if (other.scene == group(cell).scene && known && *known <= high) return *known;
    }
    try {
        const auto bytes =
            smallest_enough(backend(cell).traits.smallest_pool, high,
                            [&](std::uint64_t tried) { return enough(cell, tried, probe); });
        return bytes ? Json(*bytes) : Json();
    } catch (const Failure& failure) {
        log::warning(group(cell).report.scene_path + ", " + backend(cell).traits.name +
                     ": no smallest pool was found: " + failure.message);
    }
    return {};
}

/// @throws Failure that leaves it open.
bool BuildPlan::enough(const CellState& cell, std::uint64_t bytes, const Probe& probe) const {
    const MeasureOptions options{.config = {},
                                 .run = trial_run(comparison_.common.options.run, bytes)};
    const Result trial =
        turn(cell, probe(request_of(options), "smallest pool: " + bytes_text(bytes)));
    if (trial.outcome == Outcome::done) return true;
    if (trial.outcome != Outcome::pool_exhausted && trial.outcome != Outcome::overwritten) {
        throw Failure{trial.outcome, trial.message};
    }
    return false;
}

void BuildPlan::found(const CellState& cell, const Json& bytes) {
    if (bytes.is_null()) return;
    if (bytes == 0) throw std::invalid_argument("no pool");
    result(cell).minimal_pool_bytes = whole_number<std::uint64_t>(bytes);
}

}  // namespace heapwood::app
