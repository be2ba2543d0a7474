#include "app/measure/bench_workers.h"

#include <chrono>
#include <exception>
#include <optional>

#include "app/backends/backend.h"
#include "app/base/text.h"
#include "app/measure/lines.h"
#include "app/measure/replay.h"
#include "app/measure/task_json.h"
#include "app/measure/trace_file.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// How long a process may take until it can answer: with a GPU, a second or so until CUDA runs.
constexpr std::chrono::seconds kStartLimit{60};

TaskResult ended(Outcome outcome, const std::string& why) {
    return {.outcome = outcome, .message = why, .counts = {}, .metrics = {}};
}

double seconds_since(Lines::Clock::time_point start) {
    return std::chrono::duration<double>(Lines::Clock::now() - start).count();
}

/// Where a process runs its tasks.
struct Worksite {
    WorkloadStage& stage;
    bool gpu;
    unsigned threads;
    const std::vector<const Backend*>& available;
    allocators::Trace trace;  ///< empty: there is none
};

TaskResult answer(const Worksite& site, const Json& request) {
    const std::string allocator = request.at("allocator");
    const Task task = read_task(request.at("task"));
    if (allocator.empty()) return perform(site.stage, nullptr, true, task, site.threads);
    for (const Backend* backend : site.available) {
        if (backend->gpu != site.gpu || backend->traits.name != allocator) continue;
        const bool frees = backend->traits.frees_individually;
        if (task.procedure == Procedure::replay) {
            return replay_trace(site.stage, backend->make_pool, frees, task, site.trace,
                                site.threads);
        }
        return perform(site.stage, backend->make_pool, frees, task, site.threads);
    }
    return ended(Outcome::failed, "no allocator '" + allocator + "'");
}

}  // namespace

void BenchWorkers::start(Worker& worker) const {
    worker.child.reset();
    std::vector<std::string> arguments{"heapwood",  kBenchWorkerVerb,
                                       "--device",  gpu_ ? "gpu" : "cpu",
                                       "--threads", std::to_string(threads_)};
    if (!trace_.empty()) arguments.push_back("--trace=" + trace_);
    worker.child = std::make_unique<Child>(arguments);
    // The first line says that it is ready, so that no task is charged for the start.
    std::string line;
    if (worker.child->lines().receive(line, Lines::Clock::now() + kStartLimit, interrupts_) !=
        Arrival::line) {
        worker.child.reset();
    }
}

TaskResult BenchWorkers::run(const Player& player, const Task& task, double seconds) {
    Worker& worker = workers_[player.name];
    if (has_lasting_heap(player)) {
        // It may be larger than asked for, unless it is to be filled.
        const bool fits = task.procedure == Procedure::fill ? worker.pool_bytes == task.pool_bytes
                                                            : worker.pool_bytes >= task.pool_bytes;
        if (!fits) {
            worker.child.reset();
            worker.pool_bytes = task.pool_bytes;
        }
    }
    if (!worker.child) start(worker);
    if (!worker.child) return ended(Outcome::failed, "a worker process did not start");
    const Json request{{"allocator", player.baseline() ? "" : player.name},
                       {"task", task_json(task)}};
    std::string line;
    Arrival arrival = Arrival::closed;
    const auto begin = Lines::Clock::now();
    if (worker.child->lines().send(request.dump())) {
        const auto limit = std::chrono::duration_cast<Lines::Clock::duration>(
            std::chrono::duration<double>(seconds));
        arrival = worker.child->lines().receive(line, begin + limit, interrupts_);
    }
    if (arrival == Arrival::line) {
        try {
            TaskResult result = read_task_result(Json::parse(line));
            result.seconds = seconds_since(begin);
            // After a CUDA error or a stray write the process may not be relied on.
            if (result.outcome == Outcome::failed || result.outcome == Outcome::corrupt) {
                worker.child.reset();
            }
            return result;
        } catch (const Json::exception& error) {
            worker.child.reset();
            return ended(Outcome::failed,
                         std::string("its process answered nonsense: ") + error.what());
        }
    }
    if (arrival == Arrival::late) {
        worker.child.reset();
        return ended(Outcome::hang, "no end within " + shortest(seconds) + " s");
    }
    if (arrival == Arrival::interrupted) {
        worker.child.reset();
        return ended(Outcome::skipped, "interrupted");
    }
    const std::string how = worker.child->end();
    worker.child.reset();
    return ended(Outcome::failed, "its process " + how);
}

void serve_bench_tasks(bool gpu, unsigned threads, const std::string& trace,
                       const std::vector<const Backend*>& available) {
    Lines parent(become_child());
    const std::unique_ptr<WorkloadStage> stage = gpu ? gpu_stage() : cpu_stage(threads);
    const Worksite site{*stage, gpu, threads, available,
                        trace.empty() ? allocators::Trace() : read_trace(trace).trace};
    parent.send("ready");
    for (std::string line; parent.receive(line) == Arrival::line;) {
        TaskResult result;
        try {
            result = answer(site, Json::parse(line));
        } catch (const std::exception& error) {
            result = ended(Outcome::failed, error.what());
        }
        // What CUDA says need not be UTF-8; JSON must.
        if (!parent.send(
                task_result_json(result).dump(-1, ' ', false, Json::error_handler_t::replace))) {
            return;
        }
    }
}

}  // namespace heapwood::app
