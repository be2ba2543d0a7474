/// @file
/// What batches of distances do for their i-th point, on either machine. Internal to this folder.
#pragma once

#include <cstdint>
#include <variant>

#include "allocators/platform/macros.cuh"
#include "kdtree/distance/point_arrays.cuh"
#include "kdtree/distance/range.cuh"
#include "kdtree/distance/signs.cuh"
#include "kdtree/rays/ray_batch.h"

namespace heapwood::kdtree::detail {

/// A walk from a point, which begins with the reference of a nearby point's nearest triangle if
/// that is known, and then keeps its own there.
HEAPWOOD_INLINE NearestWalk walked(const RayTreeView& tree, const glm::vec3& p, float most,
                                   std::uint32_t* near) {
    NearestWalk walk(tree, p, most);
    if (near != nullptr && *near != Nearest::kNone) walk.begin_with(*near);
    walk.run();
    if (near != nullptr && walk.has_found()) *near = walk.reference();
    return walk;
}

struct FindNearest {
    RayTreeView tree;
    VectorArray points;
    NumberArray most;
    NearestArrays to;

    HEAPWOOD_FN void operator()(std::uint64_t i, std::uint32_t* near = nullptr) const {
        const NearestWalk walk = walked(tree, points.at(i), most.at(i), near);
        if (to.has_distances_alone()) {
            to.distances[i] = walk.distance();
        } else {
            to.set(i, walk.result());
        }
    }
};

/// Either signed distances or whether points are inside.
struct FindSides {
    RayTreeView tree;
    SignView signs;
    VectorArray points;
    float* distances;
    bool* inside;

    HEAPWOOD_FN void operator()(std::uint64_t i, std::uint32_t* near = nullptr) const {
        const glm::vec3 p = points.at(i);
        if (distances == nullptr && signs.normals == nullptr) {
            inside[i] = contains(tree, signs, p);
            return;
        }
        const NearestWalk walk = walked(tree, p, platform::bits_float(0x7F800000U), near);
        const float distance = with_sign(tree, signs, p, walk.result());
        if (distances != nullptr) {
            distances[i] = distance;
        } else {
            inside[i] = distance <= 0;
        }
    }
};

/// Whether triangles meet regions, or how many do, or which: the one that there is room for.
template <class Array>
struct FindTriangles {
    RayTreeView tree;
    Array regions;
    bool* any;
    std::uint32_t* counts;
    const std::uint64_t* offsets;
    std::uint32_t* triangles;

    HEAPWOOD_FN void operator()(std::uint64_t i) const {
        const auto region = regions.at(i);
        if (any != nullptr) {
            any[i] = any_in(tree, region);
        } else if (counts != nullptr) {
            counts[i] = count_in(tree, region);
        } else {
            list_in(tree, region, triangles + offsets[i]);
        }
    }
};

using DistanceWork =
    std::variant<FindNearest, FindSides, FindTriangles<BallArray>, FindTriangles<BoxArray>>;

/// Does it for i = 0 .. count - 1 on the options' stream: distance_gpu.cu, or distance_none.cpp,
/// which refuses, where there is no CUDA.
void device_distances(std::uint64_t count, const DistanceWork& work, const BatchOptions& options);

}  // namespace heapwood::kdtree::detail
