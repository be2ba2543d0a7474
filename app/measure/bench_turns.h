/// @file
/// What `bench` and `replay` do alike.
#pragma once

#include <string>

#include "app/measure/bench_report.h"
#include "app/measure/interrupts.h"

namespace heapwood::app {

/// Lets the allocators take their turns, each in a process of its own, and shows the progress.
/// @param trace the file of what is replayed, or nothing.
void take_turns(BenchReport& report, const std::string& trace, const Interrupts& interrupts);

/// An error for each cell whose blocks were overwritten or that failed.
void tell_errors(const BenchReport& report);

}  // namespace heapwood::app
