/// @file
/// The verb `compare`.
#include "app/base/log.h"
#include "app/base/output.h"
#include "app/measure/build_plan.h"
#include "app/measure/engine.h"
#include "app/report/comparison_printers.h"
#include "app/report/html.h"
#include "app/verbs/choices.h"
#include "app/verbs/commands.h"
#include "app/verbs/print.h"

namespace heapwood::app {

ExitCode compare(const CompareOptions& options, const std::vector<const Backend*>& available) {
    check(options.config);
    const OutputOptions& output = options.output;
    std::vector<NamedFile> inputs;
    for (const std::string& scene : options.scenes) inputs.push_back({"the scene", scene});
    check_files(inputs,
                {{"--json", output.json}, {"--html", options.html}, {"--resume", options.resume}});
    Output json(output.json);
    Output html(options.html);

    Comparison comparison;
    comparison.common = new_report(options);
    comparison.time_limit = options.time_limit;
    comparison.minimal_pool = options.minimal_pool;
    BuildPlan plan(comparison,
                   {.scenes = options.scenes,
                    .pools = options.pools,
                    .backends = choose_backends(available, options, comparison.common.machine.gpu),
                    .verify = options.verify,
                    .budget = options.budget});
    const bool to_file = !output.json.empty() && output.json != "-";
    Engine engine(plan, options.arguments,
                  {.resume = options.resume, .results = to_file ? output.json : options.html});
    engine.run();
    const bool tables = output.latex ? written([&] { write_to_stdout(as_latex(comparison)); }) &&
                                           written([&] { json.write(as_json(comparison)); })
                                     : print(comparison, output, json);
    const bool page = written([&] {
        if (html) html.write(as_html(as_json(comparison)));
    });
    const ExitCode code = engine.finish(tables && page);
    if (code != ExitCode::done) return code;
    if (verdict(comparison) != ExitCode::done) log::error(summary(comparison));
    return verdict(comparison);
}

}  // namespace heapwood::app
