#include "app/measure/worker.h"

#include <utility>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/build_case.h"
#include "app/measure/child.h"
#include "app/measure/lines.h"
#include "app/measure/replay.h"
#include "app/measure/result_json.h"
#include "app/measure/task_json.h"
#include "app/measure/trace_file.h"
#include "app/measure/turn.h"
#include "scenes/digest.h"
#include "scenes/scene.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

class BuildWorker final : public Worker {
public:
    BuildWorker(const Backend& backend, Report settings)
        : backend_(backend), settings_(std::move(settings)) {}

    std::string load(const Json& what) override {
        scene_ = scenes::Scene();  // never two at once
        scene_ = scenes::load(what.get<std::string>());
        return hex(digest(scene_));
    }
    Json take_turn(const Json& work) override {
        const BuildCase build = read_case(work);
        auto run = settings_.run;
        run.pool_bytes = build.pool_bytes;
        run.repeat = build.repeat;
        run.warm_up = build.warm_up;
        run.statistics = build.statistics;
        return result_json(settings_, app::take_turn(backend_, {.scene = scene_,
                                                                .config = settings_.configuration,
                                                                .run = run,
                                                                .verify = build.verify}));
    }

private:
    const Backend& backend_;
    Report settings_;
    scenes::Scene scene_;
};

class WorkloadWorker final : public Worker {
public:
    WorkloadWorker(const Backend* backend, bool gpu, unsigned threads)
        : backend_(backend),
          threads_(threads),
          machine_(gpu ? gpu_workloads() : cpu_workloads(threads)) {}

    std::string load(const Json& what) override {
        const std::string path = what;
        trace_ = {};
        if (path.empty()) return "";
        TraceFile file = read_trace(path);
        trace_ = std::move(file.trace);
        return file.digest;
    }
    Json take_turn(const Json& work) override {
        const Task task = read_task(work);
        const MakePool make = backend_ != nullptr ? backend_->make_pool : nullptr;
        const bool frees = backend_ == nullptr || backend_->traits.frees_individually;
        return task_result_json(task.procedure == Procedure::replay
                                    ? replay_trace(*machine_, make, frees, task, trace_, threads_)
                                    : perform(*machine_, make, frees, task, threads_));
    }

private:
    const Backend* backend_;
    unsigned threads_;
    std::unique_ptr<WorkloadMachine> machine_;
    allocators::Trace trace_;
};

Json answer(Worker& worker, const Json& request) {
    try {
        if (request.contains("load")) return {{"digest", worker.load(request.at("load"))}};
        return worker.take_turn(request);
    } catch (const std::bad_alloc&) {
        return {{"failure", "the machine's memory ran out"}};
    } catch (const std::exception& error) {
        return {{"failure", error.what()}};
    }
}

}  // namespace

std::unique_ptr<Worker> build_worker(const Backend& backend, const Report& settings) {
    return std::make_unique<BuildWorker>(backend, settings);
}

std::unique_ptr<Worker> workload_worker(const Backend* backend, bool gpu, unsigned threads) {
    return std::make_unique<WorkloadWorker>(backend, gpu, threads);
}

void serve(const std::function<std::unique_ptr<Worker>()>& make) {
    Lines parent(become_child());
    log::set_up(-1);  // the parent says it once
    set_up_progress(false);
    const std::unique_ptr<Worker> worker = make();
    for (std::string line; parent.receive(line) == Arrival::line;) {
        // What CUDA says need not be UTF-8; JSON must.
        const std::string text =
            answer(*worker, Json::parse(line)).dump(-1, ' ', false, Json::error_handler_t::replace);
        if (!parent.send(text)) return;
    }
}

}  // namespace heapwood::app
