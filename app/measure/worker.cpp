#include "app/measure/worker.h"

#include <utility>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/child.h"
#include "app/measure/lines.h"
#include "app/measure/result_json.h"
#include "app/measure/trace_file.h"
#include "app/measure/turn.h"
#include "scenes/digest.h"
#include "scenes/scene.h"

namespace heapwood::app {
namespace {

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
        RunOptions run = settings_.run;
        work.get_to(run);
        return result_json(settings_, app::take_turn(backend_, {.scene = scene_,
                                                                .config = settings_.configuration,
                                                                .run = run,
                                                                .verify = work.at("verify")}));
    }

private:
    const Backend& backend_;
    Report settings_;
    scenes::Scene scene_;
};

class WorkloadWorker final : public Worker {
public:
    WorkloadWorker(const Backend* backend, bool gpu, unsigned threads,
                   const allocators::Choices& choices)
        : machine_(gpu ? gpu_workloads() : cpu_workloads(threads)),
          subject_{.machine = *machine_, .threads = threads, .choices = choices} {
        if (backend == nullptr) return;
        subject_.make = backend->make_pool;
        subject_.frees = backend->traits.frees_individually;
    }

    std::string load(const Json& what) override {
        const std::string path = what;
        trace_ = {};
        if (path.empty()) return "";
        TraceFile file = read_trace(path);
        trace_ = std::move(file.trace);
        return file.digest;
    }
    Json take_turn(const Json& work) override {
        const Task task = work;
        return task.procedure == Procedure::replay ? replay_trace(subject_, task, trace_)
                                                   : perform(subject_, task);
    }

private:
    std::unique_ptr<WorkloadMachine> machine_;
    Subject subject_;
    allocators::Trace trace_;
};

Json answer(Worker& worker, const Json& request) {
    try {
        if (request.contains("load")) return {{"digest", worker.load(request.at("load"))}};
        return worker.take_turn(request);
    } catch (...) {
        return {{"failure", failure_in_flight().message}};
    }
}

}  // namespace

std::unique_ptr<Worker> build_worker(const Backend& backend, const Report& settings) {
    return std::make_unique<BuildWorker>(backend, settings);
}

std::unique_ptr<Worker> workload_worker(const Backend* backend, bool gpu, unsigned threads,
                                        const allocators::Choices& choices) {
    return std::make_unique<WorkloadWorker>(backend, gpu, threads, choices);
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
