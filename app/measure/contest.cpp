#include "app/measure/contest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/minimal_pool.h"
#include "app/report/json_parts.h"
#include "app/verbs/choices.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Removes what equals an earlier one.
template <class T, class Key>
std::vector<T> each_once(const std::vector<T>& all, Key key) {
    std::vector<T> once;
    for (const T& item : all) {
        const bool seen = std::any_of(once.begin(), once.end(),
                                      [&](const T& other) { return key(other) == key(item); });
        if (!seen) once.push_back(item);
    }
    return once;
}

}  // namespace

Contest::Contest(const CompareOptions& options, const std::vector<const Backend*>& available)
    : options_(options),
      pools_(each_once(options.pools, [](const PoolSize& pool) { return pool.text(); })) {
    comparison_.common = new_report(options);
    comparison_.time_limit = options.time_limit;
    comparison_.minimal_pool = options.minimal_pool;
    for (const PoolSize& pool : pools_) comparison_.pools.push_back(pool.text());
    if (pools_.empty()) comparison_.pools.emplace_back("default");
    backends_ = choose_backends(available, options, comparison_.common.machine.gpu);
    load_scenes();
    open_journal();
    make_groups();
    replay();
    work_at_start_ = work_left();
    // Until here there is nothing that a signal could lose.
    interrupts_.emplace();
    for (const Backend* backend : backends_) {
        remotes_.emplace_back(*backend, worker_arguments(options.arguments, backend->traits.name),
                              interrupts_->descriptor());
    }
}

void Contest::make_groups() {
    Report& common = comparison_.common;
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
    for (std::size_t scene = 0; scene < scenes_.size(); ++scene) {
        for (const std::string& pool : comparison_.pools) {
            Group group{.scene = scene,
                        .pool = pool,
                        .report = comparison_.scenes[scene],
                        .baseline_pool = ""};
            group.report.results = results;
            // A pool that no machine has is found out before the work begins.
            for (const Backend* backend : backends_) pool_bytes(group, *backend);
            comparison_.groups.push_back(group);
            searched_.emplace_back(backends_.size(), !options_.minimal_pool);
        }
    }
}

std::size_t Contest::number(const Group& group) const {
    return static_cast<std::size_t>(&group - comparison_.groups.data());
}

void Contest::load_scenes() {
    for (const std::string& path :
         each_once(options_.scenes, [](const std::string& text) { return text; })) {
        show_progress("loading " + path);
        const Clock::time_point start = Clock::now();
        const scenes::Scene scene = scenes::load(path);
        Report report = comparison_.common;
        describe(report, scene);
        comparison_.scenes.push_back(report);
        // All workers load at once, and start CUDA before that.
        const double load = seconds_since(start) * static_cast<double>(1 + backends_.size());
        scenes_.push_back({.path = path,
                           .digest = report.scene_digest,
                           .seconds = options_.time_limit + 3 * load});
    }
}

std::uint64_t Contest::pool_bytes(const Group& group, const Backend& backend) const {
    if (backend.method != Method::single) return 0;
    if (pools_.empty()) {
        return default_pool_bytes(group.report.root_bytes, comparison_.common.machine.memory,
                                  backend.traits.smallest_pool);
    }
    const auto found = std::find(comparison_.pools.begin(), comparison_.pools.end(), group.pool);
    return pools_[static_cast<std::size_t>(found - comparison_.pools.begin())].bytes_for(
        group.report.root_bytes);
}

/// Triangles in all turns that are still to be taken: what the time that is left goes by.
double Contest::work_left() const {
    constexpr std::size_t kSearch = 20;  // turns that a search for the smallest pool is worth
    double work = 0;
    for (const Group& group : comparison_.groups) {
        std::size_t turns = 0;
        for (std::size_t a = 0; a < backends_.size(); ++a) {
            const Result& r = group.report.results[a];
            if (!settled(r)) turns += options_.repeat - r.samples.size();
            const bool search = !settled(r) || r.outcome == Outcome::done;
            if (search && !searched_[number(group)][a]) turns += kSearch;
        }
        work += static_cast<double>(group.report.triangles) * static_cast<double>(turns);
    }
    return work;
}

void Contest::report_progress(const Group& group, std::size_t allocator, const std::string& what) {
    const double left = work_left();
    const double done = work_at_start_ - left;
    // What matters most is first: a narrow terminal shows no more.
    std::string text;
    if (done > 0) {
        text = fixed(100 * done / work_at_start_, 0) + " %, " +
               duration_text(seconds_since(start_) * left / done) + " left: ";
    }
    text += std::string(backends_[allocator]->traits.name) + ", " + what + ", pool " + group.pool +
            ", " + group.report.scene_path + " (" + std::to_string(group.scene + 1) + " of " +
            std::to_string(scenes_.size()) + ")";
    show_progress(text);
}

void Contest::run() {
    start_ = Clock::now();
    for (Group& group : comparison_.groups) run_group(group);
}

void Contest::run_group(Group& group) {
    std::vector<Result>& results = group.report.results;
    for (std::size_t a = 0; a < results.size(); ++a) {
        if (!settled(results[a])) remotes_[a].prepare(scenes_[group.scene]);
    }
    for (std::size_t turn = 0; turn < options_.repeat; ++turn) {
        for (std::size_t a = 0; a < results.size(); ++a) {
            if (settled(results[a]) || results[a].samples.size() > turn) continue;
            report_progress(
                group, a,
                "turn " + std::to_string(turn + 1) + " of " + std::to_string(options_.repeat));
            take_turn(group, a);
        }
    }
    std::vector<bool>& searched = searched_[number(group)];
    for (std::size_t a = 0; a < results.size(); ++a) {
        if (results[a].outcome != Outcome::done || searched[a]) continue;
        find_minimal_pool(group, a);
        searched[a] = true;
    }
}

void Contest::take_turn(Group& group, std::size_t allocator) {
    Result& result = group.report.results[allocator];
    Remote& remote = remotes_[allocator];
    const bool last = result.samples.size() + 1 == options_.repeat;
    remote.prepare(scenes_[group.scene]);
    Result turn = remote.build({.pool_bytes = pool_bytes(group, remote.backend()),
                                .repeat = 1,
                                .warm_up = options_.warm_up,
                                .statistics = last && options_.statistics,
                                .verify = last && options_.verify},
                               options_.time_limit);
    turn.pool_multiple =
        static_cast<double>(turn.pool_bytes) / static_cast<double>(group.report.root_bytes);
    if (turn.outcome != Outcome::done && options_.repeat > 1) {
        turn.message += " (turn " + std::to_string(result.samples.size() + 1) + " of " +
                        std::to_string(options_.repeat) + ")";
    }
    note(group, allocator, "turn", result_json(group.report, turn));
    add_turn(result, std::move(turn), options_.repeat);
    if (result.outcome != Outcome::done && settled(result)) {
        log::detail(group.report.scene_path + ", pool " + group.pool + ", " +
                    remote.backend().traits.name + ": " + result.message);
    }
}

void Contest::find_minimal_pool(Group& group, std::size_t allocator) {
    Result& result = group.report.results[allocator];
    Remote& remote = remotes_[allocator];
    if (result.method != Method::single) return;
    const std::uint64_t high = pool_bytes(group, remote.backend());
    for (const Group& other : comparison_.groups) {
        const std::optional<std::uint64_t>& known =
            other.report.results[allocator].minimal_pool_bytes;
        // It does not depend on where the search began.
        if (other.scene == group.scene && known && *known <= high) {
            result.minimal_pool_bytes = known;
            return;
        }
    }
    struct Failed {
        std::string why;
    };
    const auto enough = [&](std::uint64_t bytes) {
        report_progress(group, allocator, "smallest pool: " + bytes_text(bytes));
        remote.prepare(scenes_[group.scene]);
        const RunOptions run = trial_run({});
        const Result trial = remote.build({.pool_bytes = bytes,
                                           .repeat = run.repeat,
                                           .warm_up = run.warm_up,
                                           .statistics = run.statistics,
                                           .verify = false},
                                          options_.time_limit);
        switch (trial.outcome) {
            case Outcome::done:
                return true;
            case Outcome::pool_exhausted:
            case Outcome::overwritten:
                return false;
            default:
                throw Failed{trial.message};
        }
    };
    try {
        result.minimal_pool_bytes = smallest_enough(result.allocator.smallest_pool, high, enough);
    } catch (const Failed& failed) {
        log::warning(group.report.scene_path + ", " + remote.backend().traits.name +
                     ": no smallest pool was found: " + failed.why);
    }
    note(group, allocator, "minimal_pool",
         result.minimal_pool_bytes ? Json(*result.minimal_pool_bytes) : Json());
}

}  // namespace heapwood::app
