/// @file
/// How a scene is built within so much memory: into how many parts and how large cells it is
/// divided.
#pragma once

#include <cstdint>

#include "kdtree/distributed/forest.h"

namespace heapwood::kdtree {

/// What a build in one process (LocalWorkers) takes.
struct MemoryPlan {
    std::uint64_t limit;     ///< bytes
    bool gpu;                ///< the limit is of the device, which has cells alone
    std::uint64_t scene;     ///< bytes of scene and program, beside which nodes are made
    std::uint64_t dividing;  ///< bytes that are taken while a level is divided
    std::uint32_t parts;
    std::uint32_t cell_limit;

    /// An estimate of the most bytes that a build takes at a time.
    std::uint64_t bytes(std::uint64_t cell_references, std::uint32_t largest_cell) const;

    /// @throws allocators::BufferError that says how much would be enough, if the cells, now that
    /// they are known, take more than the limit.
    void check(const ForestResult& top) const;
};

/// @param limit bytes that the build may take, on the device if `gpu`; 0: what an ordinary build
/// does.
/// @param positions of the scene. @param threads that divide parts at the same time.
/// @throws allocators::BufferError that says how much would be enough, if that is surely too
/// little.
MemoryPlan plan_memory(std::uint64_t limit, bool gpu, std::uint64_t triangles,
                       std::uint64_t positions, unsigned threads);

}  // namespace heapwood::kdtree
