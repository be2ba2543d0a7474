#include "app/measure/build_plan.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "app/backends/allocator_options.h"
#include "app/backends/registers.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/minimal_pool.h"
#include "app/measure/result_json.h"

namespace heapwood::app {
namespace {

using Clock = std::chrono::steady_clock;

bool same_scene(const std::string& a, const std::string& b) {
    std::error_code not_there;
    return a == b || std::filesystem::equivalent(a, b, not_there);
}

/// Whether take_turn() can say so of a build.
bool ends_a_build(Outcome outcome) {
    switch (outcome) {
        case Outcome::done:
        case Outcome::pool_exhausted:
        case Outcome::nodes_exhausted:
        case Outcome::references_exhausted:
        case Outcome::out_of_memory:
        case Outcome::overwritten:
        case Outcome::verification_failed:
        case Outcome::failed:
            return true;
        default:
            return false;
    }
}

/// Removes what equals an earlier one.
template <class T, class Equal>
std::vector<T> each_once(const std::vector<T>& all, Equal equal) {
    std::vector<T> once;
    for (const T& item : all) {
        if (std::none_of(once.begin(), once.end(), [&](const T& b) { return equal(item, b); })) {
            once.push_back(item);
        }
    }
    return once;
}

}  // namespace

BuildPlan::BuildPlan(Comparison& comparison, const Compared& compared)
    : comparison_(comparison),
      pools_(each_once(compared.pools,
                       [](const auto& a, const auto& b) { return a.text() == b.text(); })),
      backends_(compared.backends),
      verify_(compared.verify) {
    repeat = comparison.common.run.repeat;
    time_limit = comparison.time_limit;
    if (compared.budget > 0) budget = compared.budget;
    budget_of = "scene";
    for (const PoolSize& pool : pools_) comparison.pools.push_back(pool.text());
    if (pools_.empty()) comparison.pools.emplace_back("default");
    load_scenes(each_once(compared.scenes, same_scene));
    make_groups();
    make_cells();
}

void BuildPlan::load_scenes(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        show_progress("loading " + path);
        const Clock::time_point start = Clock::now();
        const scenes::Scene scene = scenes::load(path);
        Report report = comparison_.common;
        describe(report, scene);
        comparison_.scenes.push_back(report);
        // All workers load at once, and start CUDA before that.
        Setting setting{.load = {{"load", path}}, .digest = hex(report.scene_digest)};
        setting.seconds += 3 * std::chrono::duration<double>(Clock::now() - start).count() *
                           static_cast<double>(1 + backends_.size());
        settings_.push_back(std::move(setting));
    }
}

void BuildPlan::make_groups() {
    const Report& common = comparison_.common;
    std::vector<Result> results;
    for (const Backend* backend : backends_) {
        Result r;
        r.method = backend->method;
        r.allocator = backend->traits;
        r.outcome = Outcome::unfinished;
        if (backend->gpu && r.method == Method::single) {
            r.kernels =
                find_registers(kernel_table(), r.allocator.name, common.machine.architecture);
        }
        results.push_back(r);
    }
    for (std::size_t scene = 0; scene < comparison_.scenes.size(); ++scene) {
        for (const std::string& pool : comparison_.pools) {
            Group group{.scene = scene,
                        .pool = pool,
                        .report = comparison_.scenes[scene],
                        .baseline_pool = ""};
            group.report.results = results;
            // A pool that no machine has is found out before the work begins.
            for (const Backend* backend : backends_) pool_bytes(group, *backend);
            comparison_.groups.push_back(std::move(group));
        }
    }
}

void BuildPlan::make_cells() {
    for (const Backend* backend : backends_) runners.push_back(runner_of(*backend));
    for (std::size_t g = 0; g < comparison_.groups.size(); ++g) {
        const Group& group = comparison_.groups[g];
        for (std::size_t b = 0; b < backends_.size(); ++b) {
            const bool single = backends_[b]->method == Method::single;
            cells.push_back({.number = cells.size(),
                             .runner = b,
                             .block = g,
                             .account = group.scene,
                             .work = static_cast<double>(group.report.triangles),
                             .searched = !comparison_.minimal_pool || !single});
        }
    }
}

Json BuildPlan::identity() const {
    const Report& common = comparison_.common;
    Json scenes = Json::array();
    for (const Report& scene : comparison_.scenes) {
        scenes.push_back({scene.scene_path, hex(scene.scene_digest)});
    }
    Json allocators = Json::array();
    for (const Runner& runner : runners) allocators.push_back(runner.name);
    return {{"kind", "compare"},
            {"device", common.machine.name},
            {"scenes", scenes},
            {"pools", comparison_.pools},
            {"allocators", allocators},
            {"repeat", common.run.repeat},
            {"warm_up", common.run.warm_up},
            {"threads", common.run.threads},
            {"forms", choices_json(common.run.choices)},
            {"arrays", common.configuration.small_arrays ? "every" : "large"},
            {"host_pool", keeps_memory(common)},
            {"statistics", common.run.statistics},
            {"verify", verify_},
            {"minimal_pool", comparison_.minimal_pool},
            {"configuration", configuration_json(common)}};
}

/// What a default pool may have depends on what else runs on the machine.
Json BuildPlan::adopted() const {
    return {{"memory", comparison_.common.machine.memory}};
}

void BuildPlan::adopt(const Json& adopted) {
    const std::uint64_t memory = adopted.at("memory");
    comparison_.common.machine.memory = memory;
    for (Report& scene : comparison_.scenes) scene.machine.memory = memory;
}

std::uint64_t BuildPlan::pool_bytes(const Group& group, const Backend& backend) const {
    if (backend.method != Method::single) return 0;
    if (pools_.empty()) {
        return default_pool_bytes(group.report.root_bytes, comparison_.common.machine.memory,
                                  backend.traits.smallest_pool);
    }
    const auto found = std::find(comparison_.pools.begin(), comparison_.pools.end(), group.pool);
    return pools_[static_cast<std::size_t>(found - comparison_.pools.begin())].bytes_for(
        group.report.root_bytes);
}

Setting BuildPlan::setting(const CellState& cell) const {
    return settings_[group(cell).scene];
}

Request BuildPlan::request_of(const BuildCase& build) const {
    return {.work = case_json(build), .heap_bytes = build.pool_bytes};
}

Request BuildPlan::request(const CellState& cell) const {
    const auto& run = comparison_.common.run;
    const bool first = cell.turns == 0;
    return request_of({.pool_bytes = pool_bytes(group(cell), backend(cell)),
                       .repeat = 1,
                       .warm_up = run.warm_up,
                       .statistics = first && run.statistics,
                       .verify = first && verify_});
}

std::string BuildPlan::label(const CellState& cell) const {
    const Group& of = group(cell);
    return "pool " + of.pool + ", " + of.report.scene_path + " (" + std::to_string(of.scene + 1) +
           " of " + std::to_string(comparison_.scenes.size()) + ")";
}

Outcome BuildPlan::fold(const CellState& cell, Result turn) {
    const Group& of = group(cell);
    turn.pool_multiple =
        static_cast<double>(turn.pool_bytes) / static_cast<double>(of.report.root_bytes);
    if (turn.outcome != Outcome::done && repeat > 1) {
        turn.message +=
            " (turn " + std::to_string(cell.turns + 1) + " of " + std::to_string(repeat) + ")";
    }
    Result& all = result(cell);
    add_turn(all, std::move(turn), repeat);
    if (all.outcome == Outcome::done || !settled(all)) return Outcome::done;
    log::detail(of.report.scene_path + ", pool " + of.pool + ", " + all.allocator.name + ": " +
                all.message);
    return all.outcome;
}

Outcome BuildPlan::add(const CellState& cell, const Json& sample) {
    Result turn = read_result(sample, backend(cell));
    if (!ends_a_build(turn.outcome) || turn.samples.size() > 1) {
        throw std::invalid_argument("no turn of one build");
    }
    return fold(cell, std::move(turn));
}

void BuildPlan::fail(const CellState& cell, Outcome outcome, const std::string& why) {
    Result turn;
    turn.method = backend(cell).method;
    turn.allocator = backend(cell).traits;
    turn.pool_bytes = pool_bytes(group(cell), backend(cell));
    turn.fail(outcome, why);
    fold(cell, std::move(turn));
}

void BuildPlan::pass_over(const CellState& cell, const std::string& why) {
    Result& r = result(cell);
    if (r.samples.empty()) {
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
    struct Failed {
        std::string why;
    };
    const auto enough = [&](std::uint64_t bytes) {
        const auto run = trial_run({});
        const Answer answer = probe(request_of({.pool_bytes = bytes,
                                                .repeat = run.repeat,
                                                .warm_up = run.warm_up,
                                                .statistics = run.statistics,
                                                .verify = false}),
                                    "smallest pool: " + bytes_text(bytes));
        if (answer.sample.is_null()) throw Failed{answer.message};
        const Result trial = read_result(answer.sample, backend(cell));
        if (trial.outcome == Outcome::done) return true;
        if (trial.outcome == Outcome::pool_exhausted || trial.outcome == Outcome::overwritten) {
            return false;
        }
        throw Failed{trial.message};
    };
    try {
        const auto bytes = smallest_enough(backend(cell).traits.smallest_pool, high, enough);
        return bytes ? Json(*bytes) : Json();
    } catch (const Failed& failed) {
        log::warning(group(cell).report.scene_path + ", " + backend(cell).traits.name +
                     ": no smallest pool was found: " + failed.why);
    }
    return {};
}

void BuildPlan::found(const CellState& cell, const Json& bytes) {
    if (bytes.is_null()) return;
    if (!bytes.is_number_unsigned() || bytes == 0) throw std::invalid_argument("no pool");
    result(cell).minimal_pool_bytes = bytes.get<std::uint64_t>();
}

}  // namespace heapwood::app
