/// @file
/// The results of `build` as a document.
#pragma once

#include <string>
#include <vector>

#include "app/measure/report.h"
#include "app/report/document.h"

namespace heapwood::app {

/// A screenful of scene, tree, times and memory; in detail the tree, times, memory, allocations,
/// fragmentation and registers. JSON is by app/report/schemas/report.schema.json.
Document document_of(const Report& report);

/// Where the time of a build went, from a profiling build of the program.
Table profile_table(const Report& report, const Result& result);

}  // namespace heapwood::app
