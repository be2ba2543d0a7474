#include "app/measure/workloads/workload_worker.h"

#include <memory>
#include <utility>

#include "app/inputs/matrix_market.h"
#include "app/inputs/trace_file.h"
#include "app/measure/engine/worker.h"

namespace heapwood::app {

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

}  // namespace heapwood::app
