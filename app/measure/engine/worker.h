/// @file
/// A worker process and its protocol: a JSON object a line, each answered by one.
///
///     {"load": {...}}          -> {"digest": "..."}      what turns are taken with from now on: a
///                                                        SceneCopy::where(); of workloads
///                                                        "road.trace", {"graph": "road.mtx"}, or
///                                                        "" for nothing
///     {"run": {...}, ...}      -> a sample               a turn: MeasureOptions; or a Task
///
/// Samples are results as in the report's JSON, or of workloads a TaskResult. A failure is answered
/// by {"failure": why}, and but for a scene that cannot be read with an "outcome", too. A worker
/// has device, threads, the allocator's options and the tree's configuration from its command line.
/// It keeps what it has loaded and nothing else from one turn to the next: pool and arrays are
/// freed before it answers. It ends when the socket is closed.
#pragma once

#include <functional>
#include <string>

#include "app/base/json.h"

namespace heapwood::app {

/// The name of the verb that such a process runs, which users do not see: "worker RUNNER" stands
/// before the arguments of the program.
inline constexpr const char* kWorkerVerb = "worker";

/// To be called first: becomes the child of the process at the other end of standard input, and
/// leaves messages to that.
void become_worker();

/// Answers that process's requests until it is gone. @param answer may throw std::exception.
void serve(const std::function<Json(const Json&)>& answer);

/// Serves turns until that process is gone.
/// @param load loads what turns need, and returns its digest; may throw std::exception.
/// @param take_turn returns the sample; may throw std::exception.
void serve_turns(const std::function<std::string(const Json&)>& load,
                 const std::function<Json(const Json&)>& take_turn);

}  // namespace heapwood::app
