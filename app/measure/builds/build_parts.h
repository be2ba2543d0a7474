/// @file
/// What the documents of `build`, `compare` and `list` show alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/measure/builds/report.h"
#include "app/report/figures/cells.h"

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

/// Registers of allocators' kernels: the table, still without rows.
Table registers_table();

/// An allocator's row in it; `label` is its name with its mark.
std::vector<Cell> registers_row(const std::string& label, const allocators::Traits& traits,
                                const std::optional<Registers>& registers);

/// The table of all results that have an allocator.
Table registers_table(const std::vector<Result>& results);

/// Why a tree has leaves at that depth (kdtree::BuildResult::depth_limit).
Remark overlap_remark(std::uint32_t depth_limit, const kdtree::BuildConfig& config);

/// That a tree hardly divides the triangles, and what may help; nothing if it does divide them, or
/// has few. @param tests the mean number of triangles that a ray through the scene's bounds tests
std::optional<Remark> undivided_remark(double tests, std::uint64_t triangles,
                                       const kdtree::BuildConfig& config);

/// Where the time of a build went, from a profiling build of the program.
Table profile_table(const Report& report, const Result& result);

/// Times of the frames of an animation, for the allocators that have them.
Table frames_table(const Report& report);

/// The same of one allocator.
const Shape<MeasuredFrames>& frames_shape();

/// Where blocks lie in the pools of the report that have a map: a table and pictures, if any has.
/// @param of scene and pool, for the titles
void add_heap_maps(const Report& report, const std::string& of, Document& document);

}  // namespace heapwood::app
