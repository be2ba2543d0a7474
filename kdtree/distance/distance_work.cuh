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
struct Walked {
    NearestWalk walk;

    HEAPWOOD_INLINE Walked(const RayTreeView& tree, const glm::vec3& p, float most,
                           std::uint32_t* near)
        : walk(tree, p, most) {
        if (near != nullptr && *near != Nearest::kNone) walk.begin_with(*near);
        walk.run();
        if (near != nullptr && walk.has_found()) *near = walk.reference();
    }
};

struct FindNearest {
    RayTreeView tree;
    VectorArray points;
    NumberArray most;
    NearestArrays to;

    HEAPWOOD_FN void operator()(std::uint64_t i, std::uint32_t* near = nullptr) const {
        const Walked walked(tree, points.at(i), most.at(i), near);
        if (to.has_distances_alone()) {
            to.distances[i] = walked.walk.distance();
        } else {
            to.set(i, walked.walk.result());
        }
    }
};

struct FindSigned {
    RayTreeView tree;
    SignView signs;
    VectorArray points;
    float* to;

    HEAPWOOD_FN void operator()(std::uint64_t i, std::uint32_t* near = nullptr) const {
        const glm::vec3 p = points.at(i);
        const Walked walked(tree, p, platform::bits_float(0x7F800000U), near);
        to[i] = with_sign(tree, signs, p, walked.walk.result());
    }
};

struct FindInside {
    RayTreeView tree;
    SignView signs;
    VectorArray points;
    bool* to;

    HEAPWOOD_FN void operator()(std::uint64_t i, std::uint32_t* near = nullptr) const {
        const glm::vec3 p = points.at(i);
        if (signs.normals == nullptr) {
            to[i] = contains(tree, signs, p);
            return;
        }
        const Walked walked(tree, p, platform::bits_float(0x7F800000U), near);
        to[i] = with_sign(tree, signs, p, walked.walk.result()) <= 0;
    }
};

template <class Regions>
struct FindAny {
    RayTreeView tree;
    Regions regions;
    bool* to;

    HEAPWOOD_FN void operator()(std::uint64_t i) const { to[i] = any_in(tree, regions.at(i)); }
};

template <class Regions>
struct FindCount {
    RayTreeView tree;
    Regions regions;
    std::uint32_t* to;

    HEAPWOOD_FN void operator()(std::uint64_t i) const { to[i] = count_in(tree, regions.at(i)); }
};

template <class Regions>
struct FindList {
    RayTreeView tree;
    Regions regions;
    const std::uint64_t* offsets;
    std::uint32_t* to;

    HEAPWOOD_FN void operator()(std::uint64_t i) const {
        list_in(tree, regions.at(i), to + offsets[i]);
    }
};

using DistanceWork = std::variant<FindNearest, FindSigned, FindInside, FindAny<BallArray>,
                                  FindAny<BoxArray>, FindCount<BallArray>, FindCount<BoxArray>,
                                  FindList<BallArray>, FindList<BoxArray>>;

/// Does it for i = 0 .. count - 1 by one kernel on the options' stream: distance_gpu.cu, or
/// distance_none.cpp, which refuses, where there is no CUDA.
void device_distances(std::uint64_t count, const DistanceWork& work, const BatchOptions& options);

}  // namespace heapwood::kdtree::detail
