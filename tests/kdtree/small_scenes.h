/// @file
/// Scenes of a few triangles, written down or drawn at random, for tests of trees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

/// A finished scene of separate triangles, three corners each.
scenes::Scene scene_of(std::vector<glm::vec3> corners, std::string name = "written down");

/// A scene of `count` triangles of one of the awkward kinds below, drawn from `seed`.
///
/// soup: anywhere, any size; grid: corners on a 5x5x5 integer grid, so that many coordinates,
/// planes and whole triangles coincide; flat: in one axis-aligned plane; boxes: axis-aligned
/// rectangles; slivers: long and nearly without area; points: without any area; coincident: all
/// the same; far: a dense cluster in a huge empty box; huge, tiny: soup scaled by 1e30, 1e-30.
scenes::Scene random_scene(const std::string& kind, unsigned count, std::uint64_t seed);

/// N large triangles in the plane z = 0, each turned a little further about the same centre: their
/// trees have any number of references.
scenes::Scene fan(unsigned n);

/// The kinds that random_scene knows.
const std::vector<std::string>& scene_kinds();

}  // namespace heapwood::kdtree::tests
