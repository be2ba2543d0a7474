/// @file
/// The division of references for a warp of width 1, in loops of few branches.
#pragma once

#include <cstdint>

#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/split/cpu_version.h"
#include "kdtree/split/sides_serial.h"

namespace heapwood::kdtree {

/// Puts references, at most SerialSides::kMost, where those of their sides go: to[side] and up, and
/// moves to[side] behind them. A reference on both sides is cut, by clipping its triangle if
/// `clip`.
void divide_block(const Triangle* triangles, bool clip, const Reference* references,
                  std::uint32_t n, const Split& split, Reference* (&to)[2],
                  CpuVersion version = fastest_cpu_version());

}  // namespace heapwood::kdtree
