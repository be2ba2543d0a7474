/// @file
/// Rays of the kinds that renderers trace, made from a scene: what `rays a second` is measured on.
///
/// Made on the host from integers and + - * / sqrt alone, so that all machines and programs trace
/// the same rays.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/render/camera.h"
#include "kdtree/model/triangle.cuh"
#include "scenes/scene.h"

namespace heapwood::app {

/// The kinds of rays, and of points.
inline constexpr std::array kRayKinds{
    "random", "primary", "bounce", "shadow", "ambient-occlusion", "uniform", "near-surface"};

/// Rays of one kind.
struct RaySet {
    std::string_view kind;  ///< one of kRayKinds
    bool any_hit;           ///< what is asked: whether there is a hit, or which is the first
    bool coherent;          ///< whether neighbouring rays take similar ways
    std::vector<kdtree::Ray> rays;  ///< of points: each is an origin
};

/// Rays through two random points of the scene's box, from the first one on, without an end.
RaySet random_rays(const scenes::Scene& scene, std::uint64_t count, std::uint64_t seed);

/// Points whose nearest triangles are asked for, as origins. uniform: anywhere in the scene's box.
/// near-surface: on a triangle, each of which is as likely, and moved along each axis by at most
/// a thousandth of the box's diagonal.
std::vector<RaySet> random_points(const scenes::Scene& scene, std::uint64_t count,
                                  std::uint64_t seed);

/// A ray for the middle of each pixel of a square picture of `width` * `width` pixels, a multiple
/// of 32: in tiles of 32 * 32 pixels, these in tiles of 8 * 4, one for each warp.
RaySet primary_rays(const Camera& camera, unsigned width);

/// Rays from where primary rays end, as many of each kind as there are primary rays, in their
/// order; if some miss, the others' hits are used several times; if all miss, none. bounce: in a
/// random direction, distributed by the cosine, without an end. ambient-occlusion: the same, but of
/// a tenth of the box's diagonal. shadow: to a point light inside or above the scene.
std::vector<RaySet> secondary_rays(const scenes::Scene& scene, const Camera& camera,
                                   std::span<const kdtree::Ray> primary,
                                   std::span<const kdtree::Hit> hits, std::uint64_t seed);

}  // namespace heapwood::app
