#include "app/measure/worker.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/child.h"
#include "app/measure/turn.h"
#include "app/report/json_parts.h"
#include "app/report/report.h"
#include "app/verbs/choices.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// The backend that this worker is for.
const Backend& backend_of(const CompareOptions& options,
                          const std::vector<const Backend*>& available, bool gpu) {
    BuildParameters choice;
    const bool levels = options.worker == level_backend(gpu).traits.name;
    choice.methods = {levels ? Method::levels : Method::single};
    choice.allocators = {options.worker};
    return *choose_backends(available, choice, gpu).front();
}

kdtree::RunOptions run_options(const CompareOptions& options, const Json& request) {
    return {.pool_bytes = request.at("pool_bytes"),
            .repeat = request.at("repeat"),
            .warm_up = request.at("warm_up"),
            .threads = options.threads,
            .choices = options.choices,
            .statistics = request.at("statistics"),
            .array_pool = nullptr,
            .keep = options.array_pool};
}

}  // namespace

Json load_request(const std::string& scene) {
    return {{"load", scene}};
}

Json as_json(const BuildRequest& request) {
    return {{"pool_bytes", request.pool_bytes},
            {"repeat", request.repeat},
            {"warm_up", request.warm_up},
            {"statistics", request.statistics},
            {"verify", request.verify}};
}

std::vector<std::string> worker_arguments(std::vector<std::string> arguments,
                                          const std::string& allocator) {
    // Before whatever may follow a "--".
    const auto verb = std::find(arguments.begin(), arguments.end(), "compare");
    arguments.insert(verb + 1, {"--worker", allocator});
    return arguments;
}

ExitCode serve(const CompareOptions& options, const std::vector<const Backend*>& available) {
    Lines lines(become_child());
    log::set_up(-1);  // the parent says it once
    set_up_progress(false);
    Report report;
    report.machine = choose_machine(options.device);
    report.configuration = options.config;
    report.preset = options.preset;
    const Backend& backend = backend_of(options, available, report.machine.gpu);
    scenes::Scene scene;
    std::string line;
    while (lines.receive(line) == Arrival::line) {
        const Json request = Json::parse(line);
        Json answer;
        if (request.contains("load")) {
            scene = scenes::Scene();  // never two at once
            scene = scenes::load(request.at("load").get<std::string>());
            answer = {{"digest", hex(digest(scene))}};
        } else {
            const Turn turn{.scene = scene,
                            .config = options.config,
                            .run = run_options(options, request),
                            .verify = request.at("verify")};
            answer = result_json(report, take_turn(backend, turn));
        }
        if (!lines.send(answer.dump(-1, ' ', false, Json::error_handler_t::replace))) break;
    }
    return ExitCode::done;
}

}  // namespace heapwood::app
