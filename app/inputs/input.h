/// @file
/// What results say of the files that were read: scenes, traces and graphs as facts, without the
/// files.
#pragma once

#include "app/base/json.h"
#include "app/measure/builds/report.h"
#include "app/measure/workloads/bench_report.h"

namespace heapwood::app {

/// The scene of a report.
Json scene_facts(const Report& report);

/// The file of a live set's sizes, but for the time that reading it takes.
HEAPWOOD_JSON_OF(SizesFile, path, digest, requests, min_bytes, max_bytes)

/// The file of the graph tests, likewise.
HEAPWOOD_JSON_OF(GraphFile, path, digest, vertices, edges, greatest_degree, array_bytes)

/// The trace of a replay.
Json trace_facts(const ReplayReport& report);

}  // namespace heapwood::app
