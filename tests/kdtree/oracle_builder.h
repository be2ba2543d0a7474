/// @file
/// An oracle for the builder: slow, obvious, in double precision, and without clipping.
#pragma once

#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

/// Builds the tree that `config` asks for by trying every plane in every node, whatever
/// config.exact_limit and the fields that are about larger nodes, and cutting boxes, whatever
/// config.clip. Among equal costs the lowest axis wins, then the lowest plane, then planar
/// references to the right. Quadratic in the number of triangles: for a thousand or so.
Tree oracle_tree(const scenes::Scene& scene, const BuildConfig& config);

}  // namespace heapwood::kdtree::tests
