/// @file
/// The counting and the search of split_binned.cuh for a warp of width 1.
#pragma once

#include <cstdint>

#include "kdtree/model/reference.cuh"
#include "kdtree/split/cpu_version.h"
#include "kdtree/split/split_binned.cuh"

namespace heapwood::kdtree {

/// Counts n references in bins, and adds their boxes to another: what count_in_bins and
/// GrowingBox::add do for one.
void bin_serially(const Reference* references, std::uint32_t n, Bins& bins, const BinFrame& frame,
                  GrowingBox& around, CpuVersion version = fastest_cpu_version());

/// What split_binned finds.
Choice split_binned_serially(const Bins& bins, const BinFrame& frame, const BinGrid& grid,
                             const Box& cell, const Box& tight, std::uint32_t n,
                             const CostModel& model, CpuVersion version = fastest_cpu_version());

}  // namespace heapwood::kdtree
