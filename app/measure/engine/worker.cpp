#include "app/measure/engine/worker.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "app/base/console.h"
#include "app/base/json_line.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/distributed/part_server.h"
#include "app/inputs/matrix_market.h"
#include "app/inputs/trace_file.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/builds/turn.h"
#include "app/measure/engine/child.h"
#include "app/measure/engine/lines.h"
#include "scenes/digest.h"
#include "scenes/scene.h"

namespace heapwood::app {
namespace {

/// Answers the parent's requests. @param answer_to may throw std::exception.
template <class AnswerTo>
void serve(const AnswerTo& answer_to) {
    const auto answer = [&](const Json& request) -> Json {
        try {
            return answer_to(request);
        } catch (const scenes::SceneTooLarge& error) {
            return {{"failure", error.what()}, {"outcome", name(Outcome::out_of_memory)}};
        } catch (const scenes::SceneError& error) {
            return {{"failure", error.what()}};
        } catch (...) {
            const Failure failure = failure_in_flight();
            return {{"failure", failure.message}, {"outcome", name(failure.outcome)}};
        }
    };
    Lines parent(STDIN_FILENO);
    for (std::string line; parent.receive(line) == Arrival::line;) {
        if (!parent.send(json_line(answer(from_json_line(line))))) return;
    }
}

/// Serves turns.
/// @param load loads what turns need. @return its digest. @throws std::exception.
/// @param take_turn returns the sample. @throws std::exception.
template <class Load, class TakeTurn>
void serve_turns(const Load& load, const TakeTurn& take_turn) {
    serve([&](const Json& request) -> Json {
        if (request.contains("load")) return {{"digest", load(request.at("load"))}};
        return take_turn(request);
    });
}

}  // namespace

void become_worker() {
    become_child();
    log::set_up(-1);  // the parent says it once
    set_up_progress(false);
}

void serve_builds(const Backend& backend, const Report& settings) {
    scenes::Scene scene;
    const auto load = [&](const std::string& path) {
        scene = scenes::Scene();  // never two at once
        scene = scenes::load(path);
        return hex(digest(scene));
    };
    const auto take = [&](const Json& work) {
        RunOptions run = settings.run;
        work.get_to(run);
        return result_json(settings, take_turn(backend, {.scene = scene,
                                                         .config = settings.configuration,
                                                         .run = run,
                                                         .verify = work.at("verify")}));
    };
    serve_turns(load, take);
}

void serve_workloads(const Backend* backend, bool gpu, unsigned threads,
                     const allocators::Choices& choices) {
    const std::unique_ptr<WorkloadMachine> machine = gpu ? gpu_workloads() : cpu_workloads(threads);
    Subject subject{.machine = *machine, .threads = threads, .choices = choices};
    if (backend != nullptr) {
        subject.make = backend->make_pool;
        subject.frees = backend->traits.frees_individually;
    }
    allocators::Trace trace;
    Graph graph;
    const auto load = [&](const Json& what) -> std::string {
        trace = {};
        subject.trace = nullptr;
        graph = {};
        subject.graph = nullptr;
        if (what.is_object()) {
            graph = read_matrix_market(what.at("graph"));
            subject.graph = &graph;
            return digest(graph);
        }
        const auto path = what.get<std::string>();
        if (path.empty()) return "";
        TraceFile file = read_trace(path);
        trace = std::move(file.trace);
        subject.trace = &trace;
        return file.digest;
    };
    const auto take = [&](const Task& task) -> Json {
        return task.procedure == Procedure::replay ? replay_trace(subject, task, trace)
                                                   : perform(subject, task);
    };
    serve_turns(load, take);
}

void serve_parts(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine) {
    PartServer server(config, machine);
    serve([&](const Json& request) { return server.answer(request); });
}

}  // namespace heapwood::app
