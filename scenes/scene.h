/// @file
/// A triangle scene in host memory.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "scenes/glm.h"

namespace heapwood::scenes {

/// Thrown for a scene that cannot be read or made. what() names the file, the line where there is
/// one, and the remedy.
class SceneError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown for a scene that is sound, or may be, but too large for this machine's memory.
class SceneTooLarge : public SceneError {
public:
    using SceneError::SceneError;
};

/// An axis-aligned box; lo > hi on every axis when empty.
struct Bounds {
    glm::vec3 lo{1, 1, 1};
    glm::vec3 hi{-1, -1, -1};
};

/// Indexed triangles. All coordinates are finite and never -0 (so that minima and maxima do not
/// depend on their order), all indices are below positions.size(), and there is at least one
/// triangle.
struct Scene {
    std::string path;                   ///< as the user named it
    std::vector<glm::vec3> positions;   ///< every vertex of the file, referenced or not
    std::vector<glm::uvec3> triangles;  ///< indices into positions
    std::uint64_t degenerate = 0;       ///< triangles of zero area (kept)
    /// Polygons of the file that are not covered by a fan of triangles (fan_corner()): theirs
    /// overlap, or lie outside.
    std::uint64_t overlapping = 0;
    Bounds bounds;  ///< of the triangles
};

/// Computes `degenerate` (has_zero_area()) and `bounds`, and turns -0 coordinates into +0, on up to
/// `threads` threads (0: one a core).
void finish(Scene& scene, unsigned threads = 1);

/// For each of `positions` positions whether a triangle has it as a corner. All indices are below.
std::vector<bool> used_positions(const std::vector<glm::uvec3>& triangles, std::size_t positions);

/// A scene from what the command line calls one: a path (`.obj`, `.obj.xz`, `.obj.gz`, or `.list`
/// for several scenes that are one) or `gen:NAME:TRIANGLES[:SEED]`. Files are read on up to
/// `threads` threads (0: one a core).
/// @throws SceneError.
Scene load(const std::string& name, unsigned threads = 0);

}  // namespace heapwood::scenes
