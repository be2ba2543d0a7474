/// @file
/// The program but for main(): reads the command line, runs the verb, and turns errors into exit
/// codes.
#pragma once

#include <vector>

#include "app/backends/backend.h"
#include "app/base/exit_code.h"

namespace heapwood::app {

/// What main() does. @param available the backends that verbs which build choose among.
ExitCode run(int argc, const char* const* argv,
             const std::vector<const Backend*>& available = backends());

}  // namespace heapwood::app
