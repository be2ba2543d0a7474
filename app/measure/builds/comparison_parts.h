/// @file
/// The parts of the document of `compare`.
#pragma once

#include <string>
#include <vector>

#include "app/measure/builds/comparison.h"
#include "app/report/figures/document.h"

namespace heapwood::app {

/// The scenes' names, short where they stay different: bunny for models/bunny.obj.xz.
std::vector<std::string> scene_names(const Comparison& comparison);

/// The group of a scene and a pool, by their numbers.
const Group& group_of(const Comparison& comparison, std::size_t scene, std::size_t pool);

/// The result whose figures stand for all of a scene: of a full allocator, if any is done, for the
/// others may ask for both children's arrays at once; nullptr: none is done.
const Result* typical(const Comparison& comparison, std::size_t scene);

/// A row for each allocator and a column for each scene: times and slowdowns, fragmentation, pools.
std::vector<Table> comparison_tables(const Comparison& comparison);

/// Bars for each scene and pool; for each scene, if there are several pools, times against pools.
std::vector<Plot> comparison_plots(const Comparison& comparison);

/// Adds for each pool which full allocators no other beats in time, memory and registers, over all
/// scenes, and which to take.
void add_choices(const Comparison& comparison, Document& document);

/// Adds, where there are several pools, the smallest one of each full allocator with which its times
/// are at most ComparisonOptions::within longer than with its fastest pool, over all scenes.
void add_smallest_pools(const Comparison& comparison, Document& document);

/// Adds the papers' tables of builds beside the figures of the scenes and allocators that this run
/// has, too, and says what differs.
void add_published(const Comparison& comparison, Document& document);

}  // namespace heapwood::app
