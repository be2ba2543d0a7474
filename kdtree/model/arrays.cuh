/// @file
/// Vectors, numbers, rays and hits as arrays of their parts, on either machine. They own nothing.
#pragma once

#include <cstdint>
#include <limits>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree {

/// Vectors anywhere in memory, by default one after another. Strides are in floats; with a stride
/// of 0 there is one vector for all.
struct VectorArray {
    const float* data;
    std::int64_t stride = 3;
    std::int64_t component_stride = 1;

    HEAPWOOD_INLINE glm::vec3 at(std::uint64_t i) const {
        const float* v = data + static_cast<std::int64_t>(i) * stride;
        return {v[0], v[component_stride], v[2 * component_stride]};
    }
};

/// Numbers, or one for all where there is no data. The stride is in floats.
struct NumberArray {
    const float* data = nullptr;
    std::int64_t stride = 1;
    float value = 0;

    HEAPWOOD_INLINE float at(std::uint64_t i) const {
        return data == nullptr ? value : data[static_cast<std::int64_t>(i) * stride];
    }
};

/// The t of rays without an end, and of rays without a hit.
inline constexpr float kEndless = std::numeric_limits<float>::infinity();

/// `count` rays. By default each goes from its origin on without an end.
struct RayArrays {
    VectorArray origins;
    VectorArray directions;
    std::uint64_t count;
    NumberArray t_min = {};
    NumberArray t_max = {.value = kEndless};

    HEAPWOOD_INLINE Ray at(std::uint64_t i) const {
        return {origins.at(i), directions.at(i), t_min.at(i), t_max.at(i)};
    }
};

/// Where hits go. A ray without a hit has t = infinity, Hit::kNone (-1 as a signed number) as its
/// triangle, and u = v = 0.
struct HitArrays {
    float* t;
    std::uint32_t* triangles;
    float* barycentrics;  ///< u and v side by side

    HEAPWOOD_INLINE void set(std::uint64_t i, const Hit& hit) const {
        const bool found = hit.found();
        t[i] = found ? hit.t : kEndless;
        triangles[i] = hit.triangle;
        barycentrics[2 * i] = found ? hit.u : 0;
        barycentrics[2 * i + 1] = found ? hit.v : 0;
    }
};

}  // namespace heapwood::kdtree
