/// @file
/// A camera as kernels read it, and its rays.
#pragma once

#include "allocators/platform/bits.cuh"
#include "app/render/vectors.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::app {

/// A camera with a picture of `width` by `height` pixels.
struct View {
    vec3 eye;
    vec3 ahead;  ///< these three have length 1, and are at right angles to one another
    vec3 right;
    vec3 up;
    float half_width;  ///< of the picture, at distance 1 from the eye
    float half_height;
    unsigned width;
    unsigned height;
};

/// The ray from the eye through a point of the picture, in pixels from the upper left corner: the
/// middle of a pixel has halves. Its direction has length 1.
HEAPWOOD_INLINE kdtree::Ray primary_ray(const View& view, float x, float y) {
    const float u = (x / static_cast<float>(view.width) * 2 - 1) * view.half_width;
    const float v = (1 - y / static_cast<float>(view.height) * 2) * view.half_height;
    return {view.eye, unit(view.ahead + (view.right * u + view.up * v)), 0,
            platform::bits_float(0x7F800000U)};
}

}  // namespace heapwood::app
