/// @file
/// The verb `compare`.
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/measure/build_plan.h"
#include "app/measure/engine.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/publish.h"

namespace heapwood::app {

ExitCode compare(const CompareOptions& options, const Backends& available) {
    std::vector<NamedFile> inputs;
    for (const std::string& scene : options.scenes) inputs.push_back({"the scene", scene});
    Publisher publisher(options.output, inputs, {{"--resume", options.resume}});
    Comparison comparison;
    comparison.common = new_report(options);
    comparison.time_limit = options.time_limit;
    comparison.minimal_pool = options.minimal_pool;
    comparison.published = options.published;
    BuildPlan plan(comparison,
                   {.scenes = options.scenes,
                    .pools = options.pools,
                    .backends = choose_backends(available, options, comparison.common.machine.gpu),
                    .verify = options.verify,
                    .budget = options.budget});
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    engine.run();
    const ExitCode code = engine.finish(publisher.publish(document_of(comparison)));
    if (code != ExitCode::done) return code;
    if (verdict(comparison) != ExitCode::done) log::error(summary(comparison));
    return verdict(comparison);
}

}  // namespace heapwood::app
