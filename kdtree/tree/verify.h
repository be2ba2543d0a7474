/// @file
/// Whether a tree is a correct kd-tree of a scene, found out without any of the builder's code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Checks a tree against its scene:
///
/// 1. It is in canonical form: every node and every reference is reached exactly once.
/// 2. The root's cell is the box of the triangles, every plane is in the closed cell that it cuts
///    (hence the children's cells make up their parent's, and the leaves' the root's), and no leaf
///    is deeper than `depth_limit` (at most kMaxDepth).
/// 3. A leaf's references are numbers of triangles, ascending, none twice; and each triangle's box
///    meets the leaf's closed cell.
/// 4. Every triangle is in a leaf, those without area included.
/// 5. Every triangle is in every leaf whose cell's interior it overlaps. A triangle that lies in a
///    split plane is in the leaves of one side of it at least: a flat cell, or one that touches.
///
/// Point 5 clips the triangle at the planes in double precision. A coordinate so computed is off
/// by less than 2^-45 of the largest of the triangle's on that axis: a clip adds at most four
/// roundings, there are at most kMaxDepth clips, and since clipped corners are means of earlier
/// ones an error never grows. So a part of a triangle is taken to be on a side only where it
/// reaches at least 2^-44 of that coordinate beyond the plane (a four-millionth of a float's own
/// spacing). A part that does so nowhere on either side is not decidable and nothing is asked for
/// it. Where all three corners have the same coordinate, nothing is computed on that axis and the
/// decision is exact.
///
/// Uses all cores; a million triangles take some seconds on two. The outcome does not depend on the
/// number of threads.
///
/// @return the first violation, in a sentence that names node, leaf and triangle; nothing if the
/// tree is correct.
std::optional<std::string> verify(const scenes::Scene& scene, const Tree& tree,
                                  std::uint32_t depth_limit);

/// Points 1 to 4 alone, which are all that a walk through the tree relies on: one thread, a
/// fraction of the time. The scene's indices are known to be sound.
std::optional<std::string> verify_structure(const scenes::Scene& scene, const Tree& tree,
                                            std::uint32_t depth_limit);

}  // namespace heapwood::kdtree
