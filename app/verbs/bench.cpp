/// @file
/// The verb `bench`.
#include "app/measure/engine/engine.h"
#include "app/report/documents.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/prepare.h"
#include "app/verbs/publish.h"
#include "app/verbs/shared_input.h"

namespace heapwood::app {

ExitCode bench(const BenchOptions& options, const Backends& available) {
    Publisher publisher(options);
    check_shared(options.graph);
    check_shared(options.sizes);
    const Machine machine = choose_machine(options.device);
    BenchReport report = new_bench(options, available, machine, files_for(options));
    WorkloadPlan plan(report);
    Engine engine(plan, options.arguments, {.resume = options.resume, .results = publisher.file()});
    engine.run();
    add_registers(report);
    const ExitCode code = engine.finish(publisher.publish(document_of(report)));
    return code == ExitCode::done ? verdict(report) : code;
}

}  // namespace heapwood::app
