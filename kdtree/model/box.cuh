/// @file
/// Vectors and boxes as the kernels use them.
#pragma once

#include "allocators/platform/macros.cuh"
#include "scenes/glm.h"

namespace heapwood::kdtree {

/// The component of v along an axis known only at run time, without indexed (local) memory.
HEAPWOOD_INLINE float component(const glm::vec3& v, unsigned axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/// Sets the component of v along an axis known only at run time.
HEAPWOOD_INLINE void set_component(glm::vec3& v, unsigned axis, float value) {
    v.x = axis == 0 ? value : v.x;
    v.y = axis == 1 ? value : v.y;
    v.z = axis == 2 ? value : v.z;
}

/// A closed axis-aligned box; may be flat, or (lo > hi) empty.
struct Box {
    glm::vec3 lo;
    glm::vec3 hi;
};

/// The smaller and the larger of two floats that are neither NaN nor -0: the order of the
/// arguments does not matter, on any machine.
HEAPWOOD_INLINE float lesser(float a, float b) {
    return b < a ? b : a;
}
HEAPWOOD_INLINE float greater(float a, float b) {
    return a < b ? b : a;
}

/// A box that grows, from nothing, to contain other boxes.
struct GrowingBox {
    glm::vec3 lo{kLargest, kLargest, kLargest};
    glm::vec3 hi{-kLargest, -kLargest, -kLargest};

    HEAPWOOD_INLINE void add(const glm::vec3& other_lo, const glm::vec3& other_hi) {
        lo = {lesser(lo.x, other_lo.x), lesser(lo.y, other_lo.y), lesser(lo.z, other_lo.z)};
        hi = {greater(hi.x, other_hi.x), greater(hi.y, other_hi.y), greater(hi.z, other_hi.z)};
    }

private:
    static constexpr float kLargest = 3.4028234663852886e38F;
};

}  // namespace heapwood::kdtree
