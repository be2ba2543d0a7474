/// @file
/// How a scene is built within so much memory: into how many parts and how large cells it is
/// divided.
#pragma once

#include <cstdint>

#include "kdtree/distributed/forest.h"

namespace heapwood::kdtree {

/// Where a build by one process has its references and cells.
enum class PartPlace {
    host,   ///< LocalWorkers on a CPU
    cells,  ///< LocalWorkers with a GPU, which has cells alone
    gpu,    ///< SceneWorkers on GPUs, each of which has the whole scene
};

/// What a build by one process takes.
struct MemoryPlan {
    std::uint64_t limit;  ///< bytes; of a GPU, unless the place is the host
    PartPlace place;
    std::uint64_t scene;     ///< bytes of the scene there, beside which nodes are made
    std::uint64_t dividing;  ///< bytes that are taken while a level is divided
    std::uint32_t parts;
    std::uint32_t cell_limit;

    /// An estimate of the most bytes that a build takes at a time.
    std::uint64_t bytes(std::uint64_t cell_references, std::uint32_t largest_cell) const;

    /// @throws allocators::BufferError that says how much would be enough, if the cells, now that
    /// they are known, take more than the limit.
    void check(const ForestResult& top) const;
};

/// @param limit bytes that the build may take, on each GPU if there are `gpus`; 0: what an
/// ordinary build does.
/// @param gpu_bytes memory of a GPU. If the scene fits into it, and into the limit, it goes there.
/// @param positions of the scene. @param threads that divide parts at the same time.
/// @throws allocators::BufferError that says how much would be enough, if that is surely too
/// little.
MemoryPlan plan_memory(std::uint64_t limit, std::uint32_t gpus, std::uint64_t gpu_bytes,
                       std::uint64_t triangles, std::uint64_t positions, unsigned threads);

}  // namespace heapwood::kdtree
