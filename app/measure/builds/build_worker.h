/// @file
/// Builds in a worker process, and what a request for one says.
#pragma once

#include "app/backends/backend.h"
#include "app/base/json.h"
#include "app/measure/builds/report.h"

namespace heapwood::app {

HEAPWOOD_JSON_OF(RunOptions, pool_bytes, repeat, warm_up, statistics, heap_map)
HEAPWOOD_JSON_OF(MeasureOptions, run, verify)

/// Builds trees of scenes, {"load": SceneCopy::where()}, until the parent is gone.
/// @param settings machine, configuration and how it runs.
void serve_builds(const Backend& backend, const Report& settings);

}  // namespace heapwood::app
