/// @file
/// What a build in parts found out: plain data.
#pragma once

#include <cstdint>
#include <string>

#include "app/measure/builds/report.h"
#include "kdtree/distributed/forest.h"

namespace heapwood::app {

/// A tree that was built in parts, and how.
struct ForestReport {
    Report origin;  ///< scene, machine and settings
    kdtree::ForestResult built;
    std::string out;  ///< file of the tree
    std::uint64_t digest = 0;
    std::uint32_t parts = 0;
    std::uint32_t processes = 1;   ///< that hold parts and build cells
    std::uint32_t cell_limit = 0;  ///< references
    std::uint64_t memory = 0;      ///< bytes that the build might take; 0: any
    std::uint64_t estimate = 0;    ///< bytes that it was to take at most
    std::uint64_t peak = 0;        ///< bytes of this process that were in memory at a time, at most
    std::uint64_t worker_peak = 0;  ///< the same of the other process that had most; 0: none
    std::uint32_t lost = 0;  ///< processes that ended early or hung, whose work others did again
    double load_ms = 0;
    double file_ms = 0;  ///< completing the file
};

}  // namespace heapwood::app
