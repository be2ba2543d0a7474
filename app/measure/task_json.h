/// @file
/// Tasks and their results as JSON: the requests to a worker process and its answers.
#pragma once

#include <nlohmann/json.hpp>

#include "app/measure/task.h"

namespace heapwood::app {

nlohmann::ordered_json task_json(const Task& task);
nlohmann::ordered_json task_result_json(const TaskResult& result);

/// Read their output. @throws nlohmann::json::exception for anything else.
Task read_task(const nlohmann::ordered_json& json);
TaskResult read_task_result(const nlohmann::ordered_json& json);

}  // namespace heapwood::app
