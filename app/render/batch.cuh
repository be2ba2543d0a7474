/// @file
/// The samples of some pixels under way: what stages between batches of rays read and write.
#pragma once

#include <cstdint>

#include "app/render/settings.h"
#include "app/render/view.cuh"
#include "kdtree/rays/ray_layout.cuh"

namespace heapwood::app {

/// What a sample has seen, or what a pixel shows: the mean of its samples.
struct alignas(16) Shade {
    vec3
        value;  ///< light, or a normal; depth, leaf size and so on in x; cost: nodes, leaves, tests
    float weight;  ///< of a sample 1 if it counts; of a pixel the part of its samples that do
};

/// Light on its way back to the eye.
struct PathState {
    vec3 throughput;  ///< what part of the light from ahead gets to the eye
    vec3 gathered;    ///< light that does
    vec3 pending;     ///< light that does if the shadow ray meets nothing
};

/// The one light, and what surfaces do with it.
struct Lighting {
    vec3 light;
    float radius;     ///< of the light, a ball
    float size;       ///< the diagonal of the scene's box: the unit of distances below
    float reference;  ///< the distance at which the light's brightness is told, squared
    float offset;     ///< see offset_of
    float reach;      ///< of rays for ambient occlusion, a distance
    vec3 up;          ///< where the sky is
};

/// Which leaf a reference belongs to.
struct LeafFacts {
    std::uint32_t size;
    std::uint32_t depth;
};

/// Arrays lie where the tree lies. Sample i of the batch belongs to pixel slot
/// `first_slot + i / settings.samples`; slots go through the picture in squares of 8 by 8 pixels,
/// also beyond its right and lower edges.
struct Batch {
    kdtree::RayTreeView tree;
    View view;
    Lighting lighting;
    RenderSettings settings;  ///< with the number of samples; no bounces but in paths
    const vec3* normals;      ///< by triangle
    const LeafFacts* leaves;  ///< by reference; for modes that show leaves
    float slice;              ///< how far ahead of the eye the plane is whose distances are shown
    std::uint64_t first_slot;

    kdtree::Ray* rays;  ///< by sample: from the eye, then from where those end
    kdtree::Hit* hits;
    kdtree::Ray* shadow_rays;  ///< whether they meet anything: shadows, ambient occlusion
    std::uint32_t* blocked;
    PathState* paths;
    Shade* shades;
    Shade* picture;  ///< by pixel, row after row
};

/// A pixel, perhaps beyond the picture's edge.
struct Pixel {
    unsigned x;
    unsigned y;
};

inline constexpr unsigned kTile = 8;

/// How many slots a picture has.
HEAPWOOD_INLINE std::uint64_t slots_of(const View& view) {
    const std::uint64_t across = (view.width + kTile - 1) / kTile;
    const std::uint64_t down = (view.height + kTile - 1) / kTile;
    return across * down * kTile * kTile;
}

HEAPWOOD_INLINE Pixel pixel_of(const View& view, std::uint64_t slot) {
    const unsigned across = (view.width + kTile - 1) / kTile;
    const auto tile = static_cast<unsigned>(slot / (kTile * kTile));
    const auto in_tile = static_cast<unsigned>(slot % (kTile * kTile));
    return {tile % across * kTile + in_tile % kTile, tile / across * kTile + in_tile / kTile};
}

HEAPWOOD_INLINE bool is_in(const View& view, const Pixel& pixel) {
    return pixel.x < view.width && pixel.y < view.height;
}

/// A ray that is not valid, and so meets nothing.
HEAPWOOD_INLINE kdtree::Ray no_ray() {
    return {{0, 0, 0}, {0, 0, 0}, 0, -1};
}

}  // namespace heapwood::app
