/// @file
/// What depends on whether a person or a file is at the other end.
#pragma once

#include <string>

namespace heapwood::app {

/// Whether text for that file descriptor may carry colour: a terminal, not a dumb one, and the
/// environment variable NO_COLOR (no-color.org) is unset or empty.
bool colour_allowed(int descriptor);

/// How far a run is, in any unit.
struct Share {
    double done = 0;
    double total = 0;
};

/// Says what show_progress() does. With HEAPWOOD_PROGRESS=json in the environment another program
/// reads standard error: then progress is a line of JSON there each time, and SIGTERM ends this
/// program when its parent ends, or when the line cannot be written. Else progress is shown if
/// standard error is a terminal, and `wanted`.
/// @throws UsageError for another value of the variable.
void set_up_progress(bool wanted);

/// Replaces the progress line on the terminal, as far as it fits; or writes a line
/// `heapwood: progress: {"done": 1.0, "total": 4.0, "what": "..."}`, in which "what" alone is
/// certain.
void show_progress(const std::string& what);
/// The same of a run whose share is known. @param intro what the terminal shows before `what`.
void show_progress(const std::string& what, const Share& share, const std::string& intro);

/// Takes the progress line away, before anything else is written.
void clear_progress();

}  // namespace heapwood::app
