/// @file
/// The results of the verbs as documents.
#pragma once

#include "app/report/figures/document.h"

namespace heapwood::app {

struct BenchReport;
struct Comparison;
struct ForestReport;
struct InspectReport;
struct Listing;
struct RayReport;
struct RenderReport;
struct ReplayReport;
struct Report;

/// Of `build`: a screenful of scene, tree, times and memory; in detail the tree, times, memory,
/// allocations, fragmentation and registers. JSON is by app/report/schemas/report.schema.json.
Document document_of(const Report& report);

/// Of `build` in parts: the tree, times by phase, memory; in detail the levels of the top. JSON is
/// by app/report/schemas/forest.schema.json.
Document document_of(const ForestReport& report);

/// Of `compare`: for each pool the papers' table, memory and fragmentation; CSV has the rows of
/// `build` with the pool as it was asked for; JSON is by app/report/schemas/compare.schema.json.
Document document_of(const Comparison& comparison);

/// Of `bench`: for each series and metric a table of medians, warm and cold apart. CSV has a row
/// for each cell, metric and phase (cold, warm, value), and one for each cell without figures. JSON
/// is by app/report/schemas/bench.schema.json.
Document document_of(const BenchReport& report);

/// Of `replay`: the trace, and a row for each allocator. JSON is by
/// app/report/schemas/replay.schema.json.
Document document_of(const ReplayReport& report);

/// Of `trace`: rays a second by kind, and the time to as many rays as a reader has. JSON is by
/// app/report/schemas/trace.schema.json; CSV has a row for each tree and kind of ray.
Document document_of(const RayReport& report);

/// Of `render`: the picture and its camera, and rays a second by kind. JSON is by
/// app/report/schemas/render.schema.json; CSV has a row for each kind of ray.
Document document_of(const RenderReport& report);

/// Of `inspect`: histograms of depth, leaf size and duplication; cost by level; the worst leaves
/// and triangles. JSON is by app/report/schemas/inspect.schema.json; CSV has a row for each level.
Document document_of(const InspectReport& report);

/// Of `list`: tables of all; CSV has the allocators. JSON is by
/// app/report/schemas/list.schema.json.
Document document_of(const Listing& listing);

}  // namespace heapwood::app
