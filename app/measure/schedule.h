/// @file
/// In which order turns are taken, and who has had enough of them.
#pragma once

#include <functional>
#include <string>

#include "app/measure/bench_report.h"

namespace heapwood::app {

/// Runs a task for a player; what goes wrong is in the result. May take `seconds`, then it is a
/// hang.
using RunTask = std::function<TaskResult(const Player&, const Task&, double seconds)>;

/// Told before each turn: the cell, and how many turns of how many have been taken.
using Progress = std::function<void(const BenchCell&, std::size_t turn, std::size_t turns)>;

/// Fills in the report's cells, test by test. Within a test every repetition goes through all
/// series, points and players, the players taking turns at each point, so that drift hits all
/// alike. A player that hung, or has used its time for a test up, is passed over until the test is
/// done: a cell that it has no turn in is skipped, others have fewer samples.
/// @param stopped asked before each turn; true ends the run.
void run_schedule(BenchReport& report, const RunTask& run, const Progress& progress,
                  const std::function<bool()>& stopped);

}  // namespace heapwood::app
