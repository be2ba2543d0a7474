/// @file
/// The tables of `trace`.
#pragma once

#include <string>
#include <vector>

#include "app/measure/rays/ray_report.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {

/// What a tree is called: the name of what built it, and the preset.
std::string title(const TracedTree& tree);

/// "shadow (any)"; of all hits of random rays "random (all)"; of points "uniform (nearest)".
std::string title(const RayTimes& times);

/// The first tree whose rays were timed: the others are compared with it. nullptr: no tree has
/// times.
const TracedTree* first_traced(const RayReport& report);

/// Scene and machine, millions of rays a second, of each GPU where several share them, and the time
/// to N rays.
std::vector<Table> ray_tables(const RayReport& report);

}  // namespace heapwood::app
