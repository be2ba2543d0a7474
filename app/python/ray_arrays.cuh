/// @file
/// Rays and hits as arrays of their parts, as Python has them, on either machine.
#pragma once

#include <cstdint>

#include "allocators/memory/buffer.h"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::python {

/// Vectors anywhere in memory. Strides are in floats; with a stride of 0 there is one for all rays.
struct Vectors {
    const float* data;
    std::int64_t stride;
    std::int64_t component_stride;

    HEAPWOOD_INLINE glm::vec3 at(std::uint64_t i) const {
        const float* v = data + static_cast<std::int64_t>(i) * stride;
        return {v[0], v[component_stride], v[2 * component_stride]};
    }
};

/// One end of each ray, or the same for all where there is no data.
struct Ends {
    const float* data;
    std::int64_t stride;
    float value;

    HEAPWOOD_INLINE float at(std::uint64_t i) const {
        return data == nullptr ? value : data[static_cast<std::int64_t>(i) * stride];
    }
};

/// Rays. Owns nothing.
struct RayArrays {
    Vectors origins;
    Vectors directions;
    Ends t_min;
    Ends t_max;
    std::uint64_t count;
    allocators::Place place;

    HEAPWOOD_INLINE kdtree::Ray at(std::uint64_t i) const {
        return {origins.at(i), directions.at(i), t_min.at(i), t_max.at(i)};
    }
};

/// Where hits go: t, the triangle's number, and u and v side by side. Owns nothing.
struct HitArrays {
    float* t;
    std::int32_t* triangles;
    float* barycentrics;

    /// No hit is t = infinity, triangle -1, u = v = 0.
    HEAPWOOD_INLINE void set(std::uint64_t i, const kdtree::Hit& hit) const {
        const bool found = hit.found();
        t[i] = found ? hit.t : platform::bits_float(0x7F800000U);
        triangles[i] = found ? static_cast<std::int32_t>(hit.triangle) : -1;
        barycentrics[2 * i] = found ? hit.u : 0;
        barycentrics[2 * i + 1] = found ? hit.v : 0;
    }
};

}  // namespace heapwood::python
