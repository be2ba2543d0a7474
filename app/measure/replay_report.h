/// @file
/// The results of `replay`: plain data, for any format.
#pragma once

#include <cstdint>
#include <string>

#include "allocators/measure/trace.h"
#include "app/measure/bench_report.h"

namespace heapwood::app {

/// All results of one call of `replay`.
struct ReplayReport {
    std::string path;    ///< of the trace
    std::string header;  ///< its first line, a JSON object
    std::uint32_t callers = 0;
    std::uint64_t root_bytes = 0;
    std::uint64_t pool_bytes = 0;  ///< asked for; an allocator may need more
    allocators::TraceFacts facts;
    /// One series, and in it a cell for each allocator.
    BenchReport turns;
};

}  // namespace heapwood::app
