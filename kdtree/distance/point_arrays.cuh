/// @file
/// Points, boxes and answers as arrays, on either machine. They own nothing.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/distance/nearest.cuh"
#include "kdtree/distance/regions.cuh"
#include "kdtree/model/arrays.cuh"

namespace heapwood::kdtree {

/// Balls, and boxes by their lowest and highest corners.
struct BallArray {
    VectorArray centers;
    NumberArray radii;

    HEAPWOOD_INLINE Ball at(std::uint64_t i) const { return {centers.at(i), radii.at(i)}; }
};
struct BoxArray {
    VectorArray lo;
    VectorArray hi;

    HEAPWOOD_INLINE BoxRegion at(std::uint64_t i) const { return {lo.at(i), hi.at(i)}; }
};

/// Where nearest points go; nullptr: that part is not asked for.
struct NearestArrays {
    float* distances = nullptr;          ///< infinity: there is none
    std::uint32_t* triangles = nullptr;  ///< Nearest::kNone: no triangle was found
    float* barycentrics = nullptr;       ///< u and v side by side; zeros: none was found
    float* points = nullptr;             ///< x, y and z side by side; NaN: none was found

    HEAPWOOD_INLINE void set(std::uint64_t i, const Nearest& nearest) const {
        const bool found = nearest.found();
        if (distances != nullptr) distances[i] = nearest.distance;
        if (triangles != nullptr) triangles[i] = nearest.triangle;
        if (barycentrics != nullptr) {
            barycentrics[2 * i] = found ? nearest.u : 0;
            barycentrics[2 * i + 1] = found ? nearest.v : 0;
        }
        if (points != nullptr) {
            for (unsigned k = 0; k < 3; ++k) {
                points[3 * i + k] =
                    found ? component(nearest.point, k) : platform::bits_float(0x7FC00000U);
            }
        }
    }
};

}  // namespace heapwood::kdtree
