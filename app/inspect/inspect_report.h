/// @file
/// What `inspect` found out: plain data.
#pragma once

#include <cstdint>
#include <string>

#include "app/inspect/inspection.h"
#include "app/measure/builds/report.h"

namespace heapwood::app {

/// A tree, where it comes from, and what it looks like inside.
struct InspectReport {
    Report origin;  ///< scene, machine and settings; the build, if there was one
    std::uint64_t tree_digest = 0;
    Inspection tree;
    std::string boxes;  ///< file with boxes of nodes; empty: none
};

}  // namespace heapwood::app
