/// @file
/// Where in a pool blocks lie: its addresses as one row of cells, at the peak and at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"

namespace heapwood::allocators {

/// The regions of a pool at one moment; only while no kernel uses it.
template <Allocator A>
std::vector<Region> regions_of(const A& allocator) {
    std::vector<Region> regions;
    allocator.for_each_region([&regions](const Region& region) { regions.push_back(region); });
    return regions;
}

/// A character for each cell of a pool.
struct HeapCells {
    /// The size of the blocks that have most of the cell: letter i of kBlockSizes for blocks of
    /// 2^i to 2^(i+1) - 1 bytes; kFreeCell if the cell has no block but free regions; kOtherCell
    /// if it has no region: the allocator's own words, or what nothing was cut from yet.
    std::string blocks;
    /// How much of the cell blocks have: a digit, ninths, rounded up.
    std::string fill;
};

inline constexpr char kBlockSizes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
inline constexpr char kFreeCell = '.';
inline constexpr char kOtherCell = '-';

/// A pool twice, in the same cells.
struct HeapMap {
    std::uint64_t reach_bytes = 0;  ///< from the pool's start to the end of the last block
    std::uint64_t cell_bytes = 0;   ///< of each cell; the last one ends at reach_bytes
    HeapCells peak;                 ///< when most was live
    HeapCells end;                  ///< after the build
};

/// The most cells that a map has; where the reach is shorter, a cell is a byte.
inline constexpr std::uint64_t kMapCells = 2048;

/// The map of regions that do not overlap, in any order.
HeapMap heap_map(const std::vector<Region>& at_peak, const std::vector<Region>& at_end);

}  // namespace heapwood::allocators
