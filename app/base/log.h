/// @file
/// Everything the program says beside its results: to standard error, by level, each message on one
/// line, as brief() has it.
#pragma once

#include <string>

namespace heapwood::app::log {

/// How much is said. -1: errors only; 0 (as without this call): also warnings and
/// notes; 1 and more: also details.
void set_up(int verbosity);

/// Something went wrong: the exit code says so too.
void error(const std::string& message);
/// Something is probably not as wanted.
void warning(const std::string& message);
/// Something that the user may not expect, but that is as asked for.
void note(const std::string& message);
/// What helps to understand a run.
void detail(const std::string& message);

}  // namespace heapwood::app::log
