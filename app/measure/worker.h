/// @file
/// A worker process and its protocol: a JSON object a line, each answered by one.
///
///     {"load": "bunny.obj"}    -> {"digest": "..."}      what turns are taken with from now on
///     {"pool_bytes": ...}      -> a sample               a turn: a BuildCase or task_json()
///
/// Samples are results as in the report's JSON, or of workloads task_result_json(). A failure is
/// answered by {"failure": why}. A worker has device, threads and the tree's configuration from its
/// command line. It keeps what it has loaded and nothing else from one turn to
/// the next: pool and arrays are freed before it answers. It ends when the socket is closed.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/backends/backend.h"
#include "app/measure/report.h"

namespace heapwood::app {

/// The name of the verb that such a process runs, which users do not see: "worker RUNNER" stands
/// before the arguments of the program.
inline constexpr const char* kWorkerVerb = "worker";

/// What a process has to take turns with.
class Worker {
public:
    virtual ~Worker() = default;

    /// Loads what turns need. @return its digest. @throws std::exception.
    virtual std::string load(const nlohmann::ordered_json& what) = 0;
    /// Takes a turn. @return the sample. @throws std::exception.
    virtual nlohmann::ordered_json take_turn(const nlohmann::ordered_json& work) = 0;
};

/// Builds trees of scenes, {"load": path}, by BuildCase.
/// @param settings machine, configuration and how it runs.
std::unique_ptr<Worker> build_worker(const Backend& backend, const Report& settings);

/// Runs workloads by task_json(), with or without an allocator; those of traces, {"load": path}.
/// @param backend nullptr: without an allocator. @throws std::runtime_error if there is no GPU.
std::unique_ptr<Worker> workload_worker(const Backend* backend, bool gpu, unsigned threads);

/// Becomes the child of the process at the other end of standard input, and serves it until that
/// is gone. @throws what `make` throws.
void serve(const std::function<std::unique_ptr<Worker>()>& make);

}  // namespace heapwood::app
