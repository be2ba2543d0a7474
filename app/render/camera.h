/// @file
/// Where a scene is seen from: as users say it, and where they leave it open.
#pragma once

#include <functional>
#include <span>

#include "app/render/view.cuh"
#include "kdtree/rays/ray_tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// Where primary rays come from.
struct Camera {
    vec3 eye;
    vec3 target;          ///< in the picture's middle
    float field_of_view;  ///< of the picture's width, in degrees, above 0 and below 180
    vec3 up{0, 1, 0};     ///< what is above in the picture
};

/// @throws UsageError if eye and target are one point, or `up` is the direction between them.
View view_of(const Camera& camera, unsigned width, unsigned height);

/// Finds the first hit of each ray in the scene that a camera is wanted for.
using ClosestHits = std::function<void(std::span<const kdtree::Ray> rays, kdtree::Hit* hits)>;

/// A view of a scene: of a published one from inside or from where it is usually seen, of any other
/// the whole from its front and a little above. If next to none of the camera's rays hit a
/// triangle, as of a flat scene that is seen from its edge, then from another side, or from in
/// front of the largest triangle. Only a scene of which no triangle has an area can have a camera
/// without hits.
Camera camera_of(const scenes::Scene& scene, const ClosestHits& closest_hits);

/// The same for a picture of that shape. A scene that is seen from outside fills the picture; one
/// that is not known, and most of which is hidden from outside, is seen from the inside.
/// @param tree of the scene, on the host
Camera camera_of(const scenes::Scene& scene, const kdtree::RayTree& tree, unsigned width,
                 unsigned height);

/// The length of the diagonal of the scene's box, at most the largest float. Of a scene that is a
/// point, a length that single precision tells from it.
float length_of(const scenes::Scene& scene);

/// Whether a point lies in the scene's box.
bool is_inside(const scenes::Bounds& bounds, const vec3& point);

/// The scene's one light: for a camera inside it between the eye and what it sees, a bit higher;
/// for one outside behind its left shoulder.
vec3 light_of(const scenes::Scene& scene, const Camera& camera);

}  // namespace heapwood::app
