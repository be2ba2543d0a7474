/// @file
/// The options of `heapwood bench` and `heapwood replay`, whose turns are taken alike.
#pragma once

#include <CLI/CLI.hpp>

#include "app/cli/cli.h"

namespace heapwood::app {

/// The verbs that users call.
void add_bench(CLI::App& verb, BenchOptions& options);
void add_replay(CLI::App& verb, ReplayOptions& options);

}  // namespace heapwood::app
