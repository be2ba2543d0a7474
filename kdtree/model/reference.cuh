/// @file
/// What the builder's arrays hold: triangles as the kernel reads them, and references to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"

namespace heapwood::kdtree {

/// A triangle in 48 bytes, so that a lane reads it in three 16-byte loads.
struct alignas(16) Triangle {
    glm::vec3 a;
    float pad_a;
    glm::vec3 b;
    float pad_b;
    glm::vec3 c;
    float pad_c;
};
static_assert(sizeof(Triangle) == 48);

/// A triangle's piece inside a node: a box around (triangle and cell), rounded outward, and the
/// triangle's number. This is what the nodes' arrays consist of.
struct alignas(16) Reference {
    glm::vec3 lo;
    std::uint32_t primitive;
    glm::vec3 hi;
    std::uint32_t pad;
};
static_assert(sizeof(Reference) == 32);

/// An end that no plane reaches: beyond all coordinates, or with a minus sign below them.
inline constexpr float kOutside = std::numeric_limits<float>::infinity();

/// Copies an object of 16-byte multiples in 16-byte pieces, which the compiler would not do for
/// structs of vectors on its own.
template <class T>
HEAPWOOD_INLINE T load_wide(const T* from) {
    static_assert(sizeof(T) % 16 == 0 && alignof(T) >= 16);
#if defined(__CUDA_ARCH__)
    T value;
    for (unsigned i = 0; i < sizeof(T) / 16; ++i) {
        reinterpret_cast<uint4*>(&value)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
    return value;
#else
    return *from;
#endif
}

/// The counterpart of load_wide.
template <class T>
HEAPWOOD_INLINE void store_wide(T* to, const T& value) {
    static_assert(sizeof(T) % 16 == 0 && alignof(T) >= 16);
#if defined(__CUDA_ARCH__)
    for (unsigned i = 0; i < sizeof(T) / 16; ++i) {
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(&value)[i];
    }
#else
    *to = value;
#endif
}

/// A reference's extent along one axis.
struct Extent {
    float lo;
    float hi;
};

/// Reads the extent of a reference in global memory along an axis known only at run time. On a GPU
/// these are two loads; a choice among the components of vectors would load them all.
HEAPWOOD_INLINE Extent load_extent(const Reference* from, unsigned axis) {
#if defined(__CUDA_ARCH__)
    const float* words = reinterpret_cast<const float*>(from) + axis;
    return {words[0], words[offsetof(Reference, hi) / sizeof(float)]};
#else
    return {component(from->lo, axis), component(from->hi, axis)};
#endif
}

/// The reference of a whole triangle.
HEAPWOOD_INLINE Reference whole_reference(const Triangle& t, std::uint32_t primitive) {
    Reference r;
    r.lo = {lesser(lesser(t.a.x, t.b.x), t.c.x), lesser(lesser(t.a.y, t.b.y), t.c.y),
            lesser(lesser(t.a.z, t.b.z), t.c.z)};
    r.hi = {greater(greater(t.a.x, t.b.x), t.c.x), greater(greater(t.a.y, t.b.y), t.c.y),
            greater(greater(t.a.z, t.b.z), t.c.z)};
    r.primitive = primitive;
    r.pad = 0;
    return r;
}

}  // namespace heapwood::kdtree
