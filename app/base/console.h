/// @file
/// What depends on whether a person or a file is at the other end.
#pragma once

#include <string>

namespace heapwood::app {

/// Whether text for that file descriptor may carry colour: a terminal, not a dumb one, and the
/// environment variable NO_COLOR (no-color.org) is unset or empty.
bool colour_allowed(int descriptor);

/// Whether show_progress shows anything: standard error is a terminal, and `wanted`.
void set_up_progress(bool wanted);

/// Replaces the progress line on the terminal, as far as it fits.
void show_progress(const std::string& what);

/// Takes the progress line away, before anything else is written.
void clear_progress();

}  // namespace heapwood::app
