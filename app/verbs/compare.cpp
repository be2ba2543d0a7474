/// @file
/// The verb `compare`.
#include "app/base/log.h"
#include "app/measure/builds/build_plan.h"
#include "app/measure/engine/engine.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"
#include "app/verbs/shared_input.h"

namespace heapwood::app {

ExitCode compare(const CompareOptions& options, const Backends& available) {
    Publisher publisher(options);
    for (const std::string& scene : options.compared.scenes) check_shared_scene(scene);
    const Machine machine = choose_machine(options.device);
    Comparison comparison;
    comparison.common = new_report(options, machine);
    comparison.options = options.compared;
    BuildPlan plan(comparison, choose_backends(available, options, machine.gpu));
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    engine.run();
    const ExitCode code = engine.finish(publisher.publish(document_of(comparison)));
    if (code != ExitCode::done) return code;
    if (verdict(comparison) != ExitCode::done) log::error(summary(comparison));
    return verdict(comparison);
}

}  // namespace heapwood::app
