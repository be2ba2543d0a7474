/// @file
/// An oracle for the builder: slow, obvious, in double precision, and without clipping.
#pragma once

#include <optional>
#include <string>

#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

/// Builds the tree that `config` asks for by trying every plane in every node, whatever
/// config.exact_limit and the fields that are about larger nodes, and cutting boxes, whatever
/// config.clip. Among equal costs the lowest axis wins, then the lowest plane, then planar
/// references to the right. Quadratic in the number of triangles: for a thousand or so.
Tree reference_tree(const scenes::Scene& scene, const BuildConfig& config);

/// Checks the choices in a tree that a builder made of `scene` with clip off: that each node's
/// references are those that the planes above leave it, that a split is one of the candidates,
/// costs no more than the best of them and (in nodes of more than exact_limit references) has been
/// moved to the nearest end of a reference if that is cheaper, and that a node is a leaf exactly
/// when the rules of BuildConfig say so. Costs may differ by a relative 1e-5, because a builder
/// computes them in single precision; the bins' planes must be where that puts them.
///
/// @return the first wrong choice, in a sentence; nothing if there is none.
std::optional<std::string> wrong_choice(const scenes::Scene& scene, const Tree& tree,
                                        const BuildConfig& config);

}  // namespace heapwood::kdtree::tests
