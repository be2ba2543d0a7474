/// @file
/// The pseudo-normals of a SignTable, as signs.cuh reads them.
#pragma once

#include "scenes/glm.h"

namespace heapwood::kdtree {

/// Pseudo-normals where queries read them: passed to kernels by value. Owns nothing.
struct SignView {
    /// Six vectors a triangle: of edges ab, bc and ca, and corners a, b and c. nullptr: signs are
    /// by crossings.
    const glm::vec3* normals;
};

}  // namespace heapwood::kdtree
