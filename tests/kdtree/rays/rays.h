/// @file
/// Rays that give traversals trouble.
#pragma once

#include <string>
#include <vector>

#include "kdtree/model/triangle.cuh"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {

/// Kinds of rays that random_ray knows.
///
/// any: from anywhere in and around the scene; at_corner, at_edge, at_face: aimed at a point of a
/// triangle as exactly as floats can; from_corner: from one corner through another; axis: along an
/// axis, through a corner's coordinates; in_plane: in a split plane of the tree; at_plane: starting
/// on one; near_plane: a float beside one and almost parallel; short: of little length;
/// from_face: from a point of a triangle, as light that it reflects.
const std::vector<std::string>& ray_kinds();

/// A random ray of a kind at a scene and its tree.
Ray random_ray(const std::string& kind, const scenes::Scene& scene, const Tree& tree, Dice& dice);

}  // namespace heapwood::kdtree::tests
