/// @file
/// The verb of worker processes, which the program starts itself.
#include "app/measure/worker.h"

#include "app/verbs/choices.h"
#include "app/verbs/commands.h"

namespace heapwood::app {
namespace {

/// Makes the worker of a runner for the verb that the program runs.
struct Make {
    const std::string& runner;
    const Backends& available;

    const Backend* backend(bool gpu) const {
        for (const Backend* candidate : available) {
            if (candidate->gpu == gpu && candidate->traits.name == runner) return candidate;
        }
        return nullptr;
    }
    std::unique_ptr<Worker> operator()(const CompareOptions& options) const {
        const Report settings = new_report(options);
        const Backend* found = backend(settings.machine.gpu);
        return build_worker(found != nullptr ? *found : level_backend(settings.machine.gpu),
                            settings);
    }
    /// That of bench or replay.
    template <class Options>
    std::unique_ptr<Worker> operator()(const Options& options) const {
        const bool gpu = choose_machine(options.device).gpu;
        return workload_worker(backend(gpu), gpu, options.threads);
    }
};

}  // namespace

ExitCode worker(const WorkerOptions& options, const Backends& available) {
    serve([&] { return std::visit(Make{options.runner, available}, options.verb); });
    return ExitCode::done;
}

}  // namespace heapwood::app
