/// @file
/// What `trace` found out as a document.
#pragma once

#include "app/measure/ray_report.h"
#include "app/report/document.h"

namespace heapwood::app {

/// Rays a second by kind, and the time to as many rays as a reader has. JSON is by
/// app/report/schemas/trace.schema.json; CSV has a row for each tree and kind of ray.
Document document_of(const RayReport& report);

}  // namespace heapwood::app
