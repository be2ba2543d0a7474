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

/// Nearest points. As all work about points: the reference of the nearest triangle that is at most
/// most_at(i) away is found first, and tells the rest.
struct FindNearest {
    RayTreeView tree;
    VectorArray points;
    NumberArray most;
    NearestArrays to;

    HEAPWOOD_INLINE float most_at(std::uint64_t i) const { return most.at(i); }
    HEAPWOOD_INLINE void tell(std::uint64_t i, const Nearest& nearest) const { to.set(i, nearest); }
};

/// Either signed distances or whether points are inside.
struct FindSides {
    RayTreeView tree;
    SignView signs;
    VectorArray points;
    float* distances;
    bool* inside;

    HEAPWOOD_INLINE bool is_by_crossings_alone() const {
        return distances == nullptr && signs.normals == nullptr;
    }
    HEAPWOOD_INLINE float most_at(std::uint64_t) const {
        return is_by_crossings_alone() ? 0 : platform::bits_float(0x7F800000U);
    }
    HEAPWOOD_INLINE void tell(std::uint64_t i, const Nearest& nearest) const {
        const glm::vec3 p = points.at(i);
        if (is_by_crossings_alone()) {
            inside[i] = nearest.found() || is_inside_by_crossings(tree, p);
        } else if (distances == nullptr) {
            inside[i] = with_sign(tree, signs, p, nearest) <= 0;
        } else {
            distances[i] = with_sign(tree, signs, p, nearest);
        }
    }
};

template <class Work>
concept AboutPoints = requires(const Work& work) {
    work.points;
};

/// @param near the reference of a triangle that may be near; or Nearest::kNone
template <AboutPoints Work>
HEAPWOOD_FN inline std::uint32_t find_reference(const Work& work, std::uint64_t i,
                                                std::uint32_t near = Nearest::kNone) {
    NearestWalk walk(work.tree, work.points.at(i), work.most_at(i));
    if (near != Nearest::kNone) walk.begin_with(near);
    walk.run();
    return walk.reference();
}
template <AboutPoints Work>
HEAPWOOD_FN inline void tell(const Work& work, std::uint64_t i, std::uint32_t reference) {
    work.tell(i, nearest_of(work.tree, reference, work.points.at(i)));
}

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
