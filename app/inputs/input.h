/// @file
/// What results say of the files that were read: scenes, traces and graphs as facts, without the
/// files.
#pragma once

#include "app/base/json.h"
#include "app/measure/builds/report.h"
#include "app/measure/workloads/bench_report.h"
#include "app/report/figures/shape.h"

namespace heapwood::app {

/// The scene of a report.
const Shape<Report>& scene_facts();

/// The file of a live set's sizes, but for the time that reading it takes.
HEAPWOOD_JSON_OF(SizesFile, path, digest, requests, min_bytes, max_bytes)
const Shape<SizesFile>& sizes_shape();

/// The file of the graph tests, likewise.
HEAPWOOD_JSON_OF(GraphFile, path, digest, vertices, edges, greatest_degree, array_bytes)
const Shape<GraphFile>& graph_shape();

/// The trace of a replay.
const Shape<ReplayReport>& trace_facts();

}  // namespace heapwood::app
