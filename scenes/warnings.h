/// @file
/// What is probably not as wanted in a scene that can be read.
#pragma once

#include <string>
#include <vector>

#include "scenes/facts.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// The distance between neighbouring numbers of single precision at the box's largest coordinate:
/// what the scene's coordinates there are rounded to multiples of. 0 for a box in the origin.
double spacing(const Bounds& bounds);

/// spacing() as a part of the box's largest side: above 2^-16 shapes suffer, from 1 on they are
/// lost. Infinite for a point that is not the origin.
double precision_loss(const Bounds& bounds);

/// Sentences with remedies for a scene whose coordinates have lost precision far from the origin,
/// of whose triangles none has an area, or whose polygons are not cut right.
std::vector<std::string> warnings(const std::string& path, const SceneFacts& facts);
std::vector<std::string> warnings(const Scene& scene);

}  // namespace heapwood::scenes
