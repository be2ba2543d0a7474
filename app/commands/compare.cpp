/// @file
/// The verb `compare`.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands/choices.h"
#include "app/commands/commands.h"
#include "app/commands/minimal_pool.h"
#include "app/comparison.h"
#include "app/console.h"
#include "app/log.h"
#include "app/output.h"
#include "app/printers/comparison.h"
#include "app/printers/html.h"
#include "app/printers/json_parts.h"
#include "app/text.h"
#include "app/version.h"
#include "app/workers/interrupts.h"
#include "app/workers/journal.h"
#include "app/workers/remote.h"

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

/// Where turns are noted until the JSON file, or else the page, is written; empty if there will be
/// none.
std::string partial(const CompareOptions& options) {
    const std::string& json = options.output.json;
    const std::string& file = json.empty() || json == "-" ? options.html : json;
    return file.empty() ? "" : file + ".partial";
}

/// A comparison under way.
class Contest {
public:
    /// Reads every scene once, and what the journal of an earlier run has. @throws as compare().
    Contest(const CompareOptions& options, const std::vector<const Backend*>& available);

    /// Lets all take their turns. @throws Interrupted.
    void run();

    /// What is known by now.
    Comparison& comparison() { return comparison_; }
    Journal* journal() { return journal_ ? &*journal_ : nullptr; }
    bool journal_failed() const { return journal_failed_; }
    int signal() const { return interrupts_->signal(); }

private:
    void load_scenes();
    void open_journal();
    void replay();
    Json header() const;
    std::uint64_t pool_bytes(const Group& group, const Backend& backend) const;

    void run_scene(std::size_t scene);
    void run_group(Group& group);
    void take_turn(Group& group, std::size_t allocator);
    void find_minimal_pool(Group& group, std::size_t allocator);
    void note(const Group& group, std::size_t allocator, const char* what, const Json& value);
    void report_progress(const Group& group, std::size_t allocator, const std::string& what);
    double work_left() const;

    const CompareOptions& options_;
    std::vector<const Backend*> backends_;
    std::optional<Interrupts> interrupts_;
    Comparison comparison_;
    std::vector<RemoteScene> scenes_;
    std::vector<PoolSize> pools_;
    std::vector<Remote> remotes_;
    std::vector<std::vector<bool>> searched_;  ///< by group and allocator: for the smallest pool
    std::optional<Journal> journal_;
    bool journal_failed_ = false;
    Clock::time_point start_ = Clock::now();
    double work_at_start_ = 0;
};

Contest::Contest(const CompareOptions& options, const std::vector<const Backend*>& available)
    : options_(options),
      pools_(each_once(options.pools, [](const PoolSize& pool) { return pool.text(); })) {
    Report& common = comparison_.common;
    common.arguments = options.arguments;
    common.date = now();
    common.machine = choose_machine(options.device);
    common.configuration = options.config;
    common.preset = options.preset;
    common.run = {.pool_bytes = 0,
                  .repeat = options.repeat,
                  .warm_up = options.warm_up,
                  .threads = options.threads,
                  .presplit = options.presplit,
                  .statistics = options.statistics,
                  .host_pool = nullptr,
                  .keep = options.host_pool};
    comparison_.time_limit = options.time_limit;
    comparison_.minimal_pool = options.minimal_pool;
    for (const PoolSize& pool : pools_) comparison_.pools.push_back(pool.text());
    if (pools_.empty()) comparison_.pools.emplace_back("default");
    backends_ = choose_backends(available, options, common.machine.gpu);
    load_scenes();
    open_journal();
    // Until here there was nothing to save.
    interrupts_.emplace();
    for (const Backend* backend : backends_) {
        remotes_.emplace_back(*backend, worker_arguments(options.arguments, backend->traits.name),
                              interrupts_->descriptor());
    }
    for (std::size_t scene = 0; scene < scenes_.size(); ++scene) {
        for (const std::string& pool : comparison_.pools) {
            Group group{.scene = scene,
                        .pool = pool,
                        .report = comparison_.scenes[scene],
                        .baseline_pool = ""};
            for (const Backend* backend : backends_) {
                Result r;
                r.method = backend->method;
                r.allocator = backend->traits;
                r.outcome = Outcome::unfinished;
                if (backend->gpu && r.method == Method::single) {
                    r.kernels = find_registers(kernel_table(), r.allocator.name,
                                               common.machine.architecture);
                }
                group.report.results.push_back(r);
            }
            comparison_.groups.push_back(group);
            searched_.emplace_back(backends_.size(), !options.minimal_pool);
        }
    }
    // A pool that no machine has is found out before the work begins.
    for (const Group& group : comparison_.groups) {
        for (const Backend* backend : backends_) pool_bytes(group, *backend);
    }
    replay();
    work_at_start_ = work_left();
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

/// All that a resumed run must have in common with the run that it resumes.
Json Contest::header() const {
    const Report& common = comparison_.common;
    Json scenes = Json::array();
    for (const Report& scene : comparison_.scenes) {
        scenes.push_back({scene.scene_path, hex(scene.scene_digest)});
    }
    Json allocators = Json::array();
    for (const Backend* backend : backends_) allocators.push_back(backend->traits.name);
    const Version& v = version();
    return {{"journal", "heapwood compare 1"},
            {"date", common.date},
            {"version", std::string(v.version) + " " + v.git + " " + v.build_type},
            {"device", common.machine.name},
            {"scenes", scenes},
            {"pools", comparison_.pools},
            {"allocators", allocators},
            {"repeat", options_.repeat},
            {"warm_up", options_.warm_up},
            {"threads", options_.threads},
            {"presplit", presplit_name(options_.presplit)},
            {"arrays", options_.config.small_arrays ? "every" : "large"},
            {"host_pool", keeps_memory(common)},
            {"statistics", options_.statistics},
            {"verify", options_.verify},
            {"minimal_pool", options_.minimal_pool},
            {"configuration", configuration_json(common)},
            // What a default pool may have depends on what else runs on the machine.
            {"adopted", {{"memory", common.machine.memory}}}};
}

void Contest::open_journal() {
    std::string path = options_.resume;
    if (path.empty()) {
        path = partial(options_);
        std::error_code ignored;
        const auto size = path.empty() ? 0 : std::filesystem::file_size(path, ignored);
        if (size > 0 && !ignored) {
            throw UsageError("'" + path +
                             "' has the turns of a comparison that did not end: go on with "
                             "--resume " +
                             path + ", or delete it");
        }
    }
    if (path.empty()) return;
    journal_.emplace(path, header());
    const std::uint64_t memory = journal_->header().at("adopted").at("memory");
    comparison_.common.machine.memory = memory;
    for (Report& scene : comparison_.scenes) scene.machine.memory = memory;
}

void Contest::replay() {
    if (!journal_) return;
    for (const Json& entry : journal_->entries()) {
        try {
            const std::size_t number = entry.at("group");
            Group& group = comparison_.groups.at(number);
            const auto found =
                std::find_if(backends_.begin(), backends_.end(), [&](const Backend* backend) {
                    return entry.at("allocator") == backend->traits.name;
                });
            if (found == backends_.end()) throw std::invalid_argument("unknown allocator");
            const auto a = static_cast<std::size_t>(found - backends_.begin());
            Result& result = group.report.results[a];
            if (entry.contains("turn")) {
                add_turn(result, read_result(entry.at("turn"), **found), options_.repeat);
            } else {
                searched_[number][a] = true;
                const Json& bytes = entry.at("minimal_pool");
                if (!bytes.is_null()) result.minimal_pool_bytes = bytes.get<std::uint64_t>();
            }
        } catch (const std::exception& error) {
            throw UsageError("'" + journal_->path() + "' is damaged: " + error.what() +
                             "; delete it, or name another file");
        }
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
    double work = 0;
    for (const Group& group : comparison_.groups) {
        for (const Result& r : group.report.results) {
            if (settled(r)) continue;
            work += static_cast<double>(group.report.triangles) *
                    static_cast<double>(options_.repeat - r.samples.size());
        }
    }
    return work;
}

void Contest::report_progress(const Group& group, std::size_t allocator, const std::string& what) {
    const double left = work_left();
    const double done = work_at_start_ - left;
    std::string text = group.report.scene_path + " (" + std::to_string(group.scene + 1) + " of " +
                       std::to_string(scenes_.size()) + "), pool " + group.pool + ", " + what +
                       ", " + backends_[allocator]->traits.name;
    if (done > 0) {
        text += "; " + fixed(100 * done / work_at_start_, 0) + " %, " +
                duration_text(seconds_since(start_) * left / done) + " left";
    }
    show_progress(text);
}

void Contest::note(const Group& group, std::size_t allocator, const char* what, const Json& value) {
    if (!journal_ || journal_failed_) return;
    const auto number = static_cast<std::size_t>(&group - comparison_.groups.data());
    const Json entry{
        {"group", number}, {"allocator", backends_[allocator]->traits.name}, {what, value}};
    if (journal_->append(entry)) return;
    journal_failed_ = true;
    log::error("'" + journal_->path() +
               "' could not be written in full; the comparison goes on, but cannot be resumed "
               "beyond this point");
}

void Contest::run() {
    start_ = Clock::now();
    for (std::size_t scene = 0; scene < scenes_.size(); ++scene) run_scene(scene);
}

void Contest::run_scene(std::size_t scene) {
    for (Group& group : comparison_.groups) {
        if (group.scene == scene) run_group(group);
    }
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
    const auto number = static_cast<std::size_t>(&group - comparison_.groups.data());
    for (std::size_t a = 0; a < results.size(); ++a) {
        if (results[a].outcome != Outcome::done || searched_[number][a]) continue;
        find_minimal_pool(group, a);
        searched_[number][a] = true;
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
        const kdtree::RunOptions run = trial_run({});
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

/// Prints and saves; each form is tried though another fails. @return whether all is written.
bool print(const Comparison& comparison, const OutputOptions& output, Output* json, Output* html) {
    bool fine = true;
    const auto attempt = [&fine](const auto& write) {
        try {
            write();
        } catch (const std::exception& error) {
            log::error(error.what());
            fine = false;
        }
    };
    attempt([&] {
        if (output.json == "-") return;
        write_to_stdout(output.csv        ? as_csv(comparison)
                        : output.markdown ? as_markdown(comparison)
                        : output.latex    ? as_latex(comparison)
                                          : as_text(comparison, colour_allowed(STDOUT_FILENO)));
    });
    attempt([&] {
        if (json != nullptr) json->write(as_json(comparison));
    });
    attempt([&] {
        if (html != nullptr) html->write(as_html(as_json(comparison)));
    });
    return fine;
}

/// How many cells have no figures, and why one of the worst has none.
std::string summary(const Comparison& comparison) {
    const ExitCode worst = verdict(comparison);
    std::size_t cells = 0;
    std::size_t failed = 0;
    std::string example;
    for (const Group& group : comparison.groups) {
        for (const Result& r : group.report.results) {
            ++cells;
            if (r.outcome == Outcome::done) continue;
            ++failed;
            if (!example.empty() || exit_code(r.outcome) != worst) continue;
            example = group.report.scene_path + ", pool " + group.pool + ", " + r.allocator.name +
                      ": " + r.message;
        }
    }
    return std::to_string(failed) + " of " + std::to_string(cells) + " cells failed; " + example;
}

/// How the user gets the rest of what was interrupted.
std::string how_to_resume(const CompareOptions& options, Contest& contest) {
    const Journal* journal = contest.journal();
    if (journal == nullptr) {
        return "no turns were noted to go on from: give --json FILE or --resume FILE next time";
    }
    if (contest.journal_failed()) return "not all turns could be noted to go on from";
    if (!options.resume.empty()) return "go on with the same command";
    return "go on with the same command and --resume " + journal->path();
}

}  // namespace

ExitCode compare(const CompareOptions& options, const std::vector<const Backend*>& available) {
    if (!options.worker.empty()) return serve(options, available);
    check(options.config);
    std::optional<Output> json;
    if (!options.output.json.empty()) json.emplace(options.output.json);
    std::optional<Output> html;
    if (!options.html.empty()) html.emplace(options.html);
    Contest contest(options, available);
    Comparison& comparison = contest.comparison();
    ExitCode code = ExitCode::done;
    try {
        contest.run();
    } catch (const Interrupted&) {
        code = static_cast<ExitCode>(128 + contest.signal());
        log::error("interrupted; " + how_to_resume(options, contest));
    } catch (const std::exception& error) {
        code = ExitCode::internal;
        log::error(std::string(error.what()) + "; " + how_to_resume(options, contest));
    }
    judge(comparison);
    const bool written =
        print(comparison, options.output, json ? &*json : nullptr, html ? &*html : nullptr);
    if (code != ExitCode::done) return code;
    if (!written || contest.journal_failed()) return ExitCode::internal;
    Journal* journal = contest.journal();
    if (journal != nullptr && journal->path() == partial(options)) journal->remove();
    code = verdict(comparison);
    if (code != ExitCode::done) log::error(summary(comparison));
    return code;
}

}  // namespace heapwood::app
