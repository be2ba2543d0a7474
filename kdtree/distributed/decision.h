/// @file
/// What the coordinator of a build in parts tells its workers: plain data.
#pragma once

#include <cstdint>

#include "kdtree/model/sah.cuh"
#include "kdtree/split/split_binned.cuh"

namespace heapwood::kdtree {

/// What workers do with an open node: plain data, the same for all. Workers and coordinator number
/// nodes alike: in the order of the decisions, of each the lower child first, open ones join the
/// next level's open nodes, others the cells.
struct Decision {
    Split split;            ///< axis kMakeLeaf: the node is not divided, but becomes a cell
    BinFrame frames[2];     ///< of the bins of those children that are open
    std::uint32_t open[2];  ///< 1: the child is open; 0: it is a cell
};

/// What workers begin with.
struct TopStart {
    BinFrame frame;      ///< of the root's bins
    std::uint32_t open;  ///< 0: the root is a cell, and there are no levels
};

}  // namespace heapwood::kdtree
