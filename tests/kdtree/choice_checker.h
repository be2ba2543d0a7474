/// @file
/// An oracle for the choices in a finished tree, which it makes once more by its own search.
#pragma once

#include <optional>
#include <string>

#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

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
