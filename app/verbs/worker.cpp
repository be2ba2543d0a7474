/// @file
/// The verb of worker processes, which the program starts itself.
#include <algorithm>

#include "allocators/platform/threads.h"
#include "app/distributed/part_server.h"
#include "app/measure/builds/build_worker.h"
#include "app/measure/engine/worker.h"
#include "app/measure/workloads/workload_worker.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"

namespace heapwood::app {
namespace {

/// Serves as the worker of a runner for the verb that the program runs.
struct Serve {
    const std::string& runner;
    const Backends& available;

    const Backend* backend(bool gpu) const {
        for (const Backend* candidate : available) {
            if (candidate->gpu == gpu && candidate->traits.name == runner) return candidate;
        }
        return nullptr;
    }
    void operator()(const CompareOptions& options) const {
        const Report settings = new_report(options);
        const Backend* found = backend(settings.provenance.machine.gpu);
        serve_builds(found != nullptr ? *found : level_backend(settings.provenance.machine.gpu),
                     settings);
    }
    void operator()(const BuildOptions& options) const {
        const unsigned threads =
            platform::thread_count(options.measure.run.threads) / std::max(options.parts, 1U);
        serve_parts(options.measure.config,
                    {.threads = std::max(threads, 1U), .gpu = choose_machine(options.device).gpu});
    }
    void operator()(const WorkloadParameters& options) const {
        const bool gpu = choose_machine(options.device).gpu;
        serve_workloads(backend(gpu), gpu, options.run.threads, options.run.settings.choices);
    }
};

}  // namespace

ExitCode worker(const WorkerOptions& options, const Backends& available) {
    become_worker();
    std::visit(Serve{options.runner, available}, options.verb);
    return ExitCode::done;
}

}  // namespace heapwood::app
