/// @file
/// Workloads in a worker process, and what a request for one and its answer say.
#pragma once

#include "app/backends/backend.h"
#include "app/base/json.h"
#include "app/measure/workloads/perform.h"

namespace heapwood::allocators {

HEAPWOOD_JSON_OF(Counts, requests, frees, failed, corrupt)

}  // namespace heapwood::allocators

namespace heapwood::app {

HEAPWOOD_JSON_OF(Task, procedure, lanes, callers, requests, rounds, min_bytes, max_bytes, live,
                 family, array_bytes, edges, sources, held_blocks, held_bytes, pool_bytes,
                 threshold, seed, iterations, budget_ms, pace)
HEAPWOOD_JSON_OF(Samples, cold, warm, value)
HEAPWOOD_JSON_OF(TaskResult, outcome, message, counts, metrics, pool_bytes)

/// Runs workloads, with or without an allocator, until the parent is gone; those of traces and of
/// graphs that are read, {"load": ...}.
/// @param backend nullptr: without an allocator. @throws std::runtime_error if there is no GPU.
void serve_workloads(const Backend* backend, bool gpu, unsigned threads,
                     const allocators::Choices& choices);

}  // namespace heapwood::app
