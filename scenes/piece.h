/// @file
/// A piece of a scene.
#pragma once

#include <cstdint>

#include "scenes/scene.h"

namespace heapwood::scenes {

/// Triangles that follow one another in a scene, and positions that do.
struct Piece {
    Scene scene;                       ///< of its own positions; or without any triangle
    std::uint64_t first_position = 0;  ///< number in the whole scene of its position 0
};

}  // namespace heapwood::scenes
