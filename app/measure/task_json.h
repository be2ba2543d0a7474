/// @file
/// Tasks and what came of them as JSON: what a worker process is told and answers.
#pragma once

#include <nlohmann/json.hpp>

#include "app/measure/task.h"

namespace heapwood::app {

nlohmann::ordered_json task_json(const Task& task);
nlohmann::ordered_json task_result_json(const TaskResult& result);

/// What those have written. @throws nlohmann::json::exception if it is no such thing.
Task read_task(const nlohmann::ordered_json& json);
TaskResult read_task_result(const nlohmann::ordered_json& json);

}  // namespace heapwood::app
