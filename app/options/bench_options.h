/// @file
/// The options of `heapwood bench`.
#pragma once

#include <CLI/CLI.hpp>

#include "app/cli.h"

namespace heapwood::app {

/// The verb that users call.
void add_bench(CLI::App& verb, BenchOptions& options);

/// The verb of its worker processes.
void add_bench_worker(CLI::App& verb, BenchWorkerOptions& options);

}  // namespace heapwood::app
