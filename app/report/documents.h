/// @file
/// The results of the verbs as documents, and the JSON Schema of each: both are made from one list
/// of fields.
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
/// allocations, fragmentation and registers.
Document document_of(const Report& report);
Json build_schema();

/// Of `build` in parts: the tree, times by phase, memory; in detail the levels of the top.
Document document_of(const ForestReport& report);
Json forest_schema();

/// Of `compare`: for each pool the papers' table, memory and fragmentation; CSV has the rows of
/// `build` with the pool as it was asked for.
Document document_of(const Comparison& comparison);
Json comparison_schema();

/// Of `bench`: for each series and metric a table of medians, warm and cold apart. CSV has a row
/// for each cell, metric and phase (cold, warm, value), and one for each cell without figures.
Document document_of(const BenchReport& report);
Json bench_schema();

/// Of `replay`: the trace, and a row for each allocator.
Document document_of(const ReplayReport& report);
Json replay_schema();

/// Of `trace`: rays a second by kind, and the time to as many rays as a reader has. CSV has a row
/// for each tree and kind of ray.
Document document_of(const RayReport& report);
Json trace_schema();

/// Of `render`: the picture and its camera, and rays a second by kind. CSV has a row for each kind
/// of ray.
Document document_of(const RenderReport& report);
Json render_schema();

/// Of `inspect`: histograms of depth, leaf size and duplication; cost by level; the worst leaves
/// and triangles. CSV has a row for each level.
Document document_of(const InspectReport& report);
Json inspect_schema();

/// Of `list`: tables of all; CSV has the allocators.
Document document_of(const Listing& listing);
Json list_schema();

}  // namespace heapwood::app
