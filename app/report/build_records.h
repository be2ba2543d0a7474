/// @file
/// Builds as `build` and `compare` show them alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/measure/report.h"
#include "app/report/cells.h"

namespace heapwood::app {

/// A result's row of CSV: the scene, the program, and every figure of the build.
Record build_record(const Report& report, const Result& result);

/// The smallest pool in bytes and as a multiple of the root node's array.
Cell minimal_pool_cell(const Result& result, std::uint64_t root_bytes);

/// A bar for each result: slowdowns, or times where there is none.
/// @param table the title of the table above it
/// @param fastest the number of the result that stands out, if any
Plot slowdown_plot(const Report& report, std::string table, std::string title,
                   std::optional<std::size_t> fastest = std::nullopt);

}  // namespace heapwood::app
