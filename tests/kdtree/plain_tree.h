/// @file
/// The tree of one thread: what the trees of all machines and allocators are compared with.
#pragma once

#include <cstdint>

#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests {

/// The tree that one thread builds with AtomicMalloc. tree_correctness_test.cpp finds it correct.
/// @throws std::runtime_error if the build fails
Tree plain_tree(const scenes::Scene& scene, const BuildConfig& config);

/// How many nodes of a tree have two children with references: for each of these a build asks for
/// arrays.
std::uint64_t divided_nodes(const Tree& tree);

}  // namespace heapwood::kdtree::tests
