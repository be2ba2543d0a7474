/// @file
/// Distances of many points at once, on either machine.
///
/// Points and results lie where the tree lies, and results are those of nearest.cuh, signs.cuh and
/// range.cuh. Calls, threads and streams are as in ray_batch.h: on a GPU a call returns before its
/// results are there, and wait() waits for them. `fast` and `coherent` have no effect.
///
/// All throw std::runtime_error with CUDA's answer if a launch fails, and where the program was
/// built without CUDA and the tree lies on a device.
#pragma once

#include <cstdint>
#include <variant>

#include "allocators/memory/buffer.h"
#include "kdtree/distance/point_arrays.cuh"
#include "kdtree/distance/signs.cuh"
#include "kdtree/rays/ray_batch.h"
#include "kdtree/rays/ray_tree.h"

namespace heapwood::kdtree {

/// The nearest point to each of `count` points, if it is at most `most` away.
void closest_points(const RayTree& tree, const VectorArray& points, std::uint64_t count,
                    const NumberArray& most, const NearestArrays& to,
                    const BatchOptions& options = {});

/// The signed distance of each of `count` points.
/// @param signs of a SignTable of the same scene, where the tree lies; {nullptr}: by crossings
void signed_distances(const RayTree& tree, const SignView& signs, const VectorArray& points,
                      std::uint64_t count, float* to, const BatchOptions& options = {});

/// Whether each of `count` points is inside, or on the surface.
void contain(const RayTree& tree, const SignView& signs, const VectorArray& points,
             std::uint64_t count, bool* to, const BatchOptions& options = {});

/// Balls or boxes.
using Regions = std::variant<BallArray, BoxArray>;

/// Whether any triangle meets each of `count` regions; how many do; and which: those of region i
/// become triangles[offsets[i]] and the following ones, ascending, which there must be room for.
void any_in(const RayTree& tree, const Regions& regions, std::uint64_t count, bool* to,
            const BatchOptions& options = {});
void count_in(const RayTree& tree, const Regions& regions, std::uint64_t count, std::uint32_t* to,
              const BatchOptions& options = {});
void list_in(const RayTree& tree, const Regions& regions, std::uint64_t count,
             const std::uint64_t* offsets, std::uint32_t* triangles,
             const BatchOptions& options = {});

/// The triangles of many regions: those of region i are triangles[offsets[i]] to
/// triangles[offsets[i + 1]], exclusive.
struct TriangleLists {
    allocators::Buffer offsets;    ///< a std::uint64_t for each region, and one more: the total
    allocators::Buffer triangles;  ///< of std::uint32_t
    std::uint64_t total = 0;
};

/// Counts, makes room where the tree lies, and lists. Returns when all is done, on a GPU too. None,
/// if a stop was requested.
/// @throws allocators::BufferError if there is no room.
TriangleLists all_in(const RayTree& tree, const Regions& regions, std::uint64_t count,
                     const BatchOptions& options = {});

}  // namespace heapwood::kdtree
