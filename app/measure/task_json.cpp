#include "app/measure/task_json.h"

#include "app/backends/allocator_options.h"

namespace heapwood::app {

using Json = nlohmann::ordered_json;

Json task_json(const Task& task) {
    return {{"procedure", static_cast<int>(task.procedure)},
            {"by_warp", task.by_warp},
            {"lanes", task.lanes},
            {"held_blocks", task.held_blocks},
            {"held_bytes", task.held_bytes},
            {"callers", task.callers},
            {"requests", task.requests},
            {"rounds", task.rounds},
            {"min_bytes", task.min_bytes},
            {"max_bytes", task.max_bytes},
            {"pool_bytes", task.pool_bytes},
            {"threshold", task.threshold},
            {"forms", choices_json(task.choices)},
            {"seed", task.seed},
            {"iterations", task.iterations},
            {"budget_ms", task.budget_ms}};
}

Task read_task(const Json& json) {
    return {.procedure = static_cast<Procedure>(json.at("procedure").get<int>()),
            .by_warp = json.at("by_warp"),
            .lanes = json.at("lanes"),
            .callers = json.at("callers"),
            .requests = json.at("requests"),
            .rounds = json.at("rounds"),
            .min_bytes = json.at("min_bytes"),
            .max_bytes = json.at("max_bytes"),
            .held_blocks = json.at("held_blocks"),
            .held_bytes = json.at("held_bytes"),
            .pool_bytes = json.at("pool_bytes"),
            .threshold = json.at("threshold"),
            .choices = read_choices(json.at("forms")),
            .seed = json.at("seed"),
            .iterations = json.at("iterations"),
            .budget_ms = json.at("budget_ms")};
}

Json task_result_json(const TaskResult& result) {
    Json metrics = Json::object();
    for (const auto& [metric, samples] : result.metrics) {
        metrics[metric] = {
            {"cold", samples.cold}, {"warm", samples.warm}, {"value", samples.value}};
    }
    const allocators::Counts& counts = result.counts;
    return {{"outcome", name(result.outcome)},
            {"message", result.message},
            {"counts", {counts.requests, counts.frees, counts.failed, counts.corrupt}},
            {"metrics", metrics},
            {"pool_bytes", result.pool_bytes}};
}

TaskResult read_task_result(const Json& json) {
    const Json& counts = json.at("counts");
    TaskResult result{.outcome = outcome_named(json.at("outcome").get<std::string>()),
                      .message = json.at("message"),
                      .counts = {.requests = counts.at(0),
                                 .frees = counts.at(1),
                                 .failed = counts.at(2),
                                 .corrupt = counts.at(3)},
                      .metrics = {},
                      .pool_bytes = json.at("pool_bytes")};
    for (const auto& [metric, samples] : json.at("metrics").items()) {
        result.metrics[metric] = {
            .cold = samples.at("cold"), .warm = samples.at("warm"), .value = samples.at("value")};
    }
    return result;
}

}  // namespace heapwood::app
