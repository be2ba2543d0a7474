/// @file
/// The verb `compare`.
#include "app/base/log.h"
#include "app/measure/engine/engine.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/prepare.h"
#include "app/verbs/publish.h"
#include "app/verbs/shared_input.h"

namespace heapwood::app {

ExitCode compare(const CompareOptions& options, const Backends& available) {
    Publisher publisher(options);
    for (const std::string& scene : options.scenes) check_shared_scene(scene);
    const Machine machine = choose_machine(options.device);
    Comparison comparison = new_comparison(options, machine);
    BuildPlan plan(comparison, compared(options, available, machine));
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    engine.run();
    const ExitCode code = engine.finish(publisher.publish(document_of(comparison)));
    if (code != ExitCode::done) return code;
    if (verdict(comparison) != ExitCode::done) log::error(summary(comparison));
    return verdict(comparison);
}

}  // namespace heapwood::app
