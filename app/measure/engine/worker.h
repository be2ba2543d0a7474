/// @file
/// A worker process and its protocol: a JSON object a line, each answered by one.
///
///     {"load": "bunny.obj"}    -> {"digest": "..."}      what turns are taken with from now on; of
///                                                        workloads a trace, "" for nothing, or
///                                                        {"graph": "road.mtx"}
///     {"pool_bytes": ...}      -> a sample               a turn: RunOptions, "verify"; or a Task
///
/// Samples are results as in the report's JSON, or of workloads a TaskResult. A failure is answered
/// by {"failure": why}, and but for a scene that cannot be read with an "outcome", too. A worker
/// has device, threads, the allocator's options and the tree's configuration from its command line.
/// It keeps what it has loaded and nothing else from one turn to the next: pool and arrays are
/// freed before it answers. It ends when the socket is closed.
#pragma once

#include "app/backends/backend.h"
#include "app/base/json.h"
#include "app/measure/builds/report.h"
#include "app/measure/workloads/task.h"
#include "kdtree/distributed/local_workers.h"

namespace heapwood::allocators {

HEAPWOOD_JSON_OF(Counts, requests, frees, failed, corrupt)

}  // namespace heapwood::allocators

namespace heapwood::app {

/// The name of the verb that such a process runs, which users do not see: "worker RUNNER" stands
/// before the arguments of the program.
inline constexpr const char* kWorkerVerb = "worker";

HEAPWOOD_JSON_OF(RunOptions, pool_bytes, repeat, warm_up, statistics, heap_map)
HEAPWOOD_JSON_OF(Task, procedure, lanes, callers, requests, rounds, min_bytes, max_bytes, live,
                 family, array_bytes, edges, sources, held_blocks, held_bytes, pool_bytes,
                 threshold, seed, iterations, budget_ms, pace)
HEAPWOOD_JSON_OF(Samples, cold, warm, value)
HEAPWOOD_JSON_OF(TaskResult, outcome, message, counts, metrics, pool_bytes)

/// To be called first: becomes the child of the process at the other end of standard input, and
/// leaves messages to that.
void become_worker();

/// Serves that process until it is gone: builds trees of scenes, {"load": path}.
/// @param settings machine, configuration and how it runs.
void serve_builds(const Backend& backend, const Report& settings);

/// Serves that process until it is gone: runs workloads, with or without an allocator; those of
/// traces and of graphs that are read, {"load": ...}.
/// @param backend nullptr: without an allocator. @throws std::runtime_error if there is no GPU.
void serve_workloads(const Backend* backend, bool gpu, unsigned threads,
                     const allocators::Choices& choices);

/// Serves that process until it is gone: makes parts of a build in parts, and builds its cells
/// (app/distributed/part_server.h).
void serve_parts(const kdtree::BuildConfig& config, const kdtree::LocalMachine& machine);

}  // namespace heapwood::app
