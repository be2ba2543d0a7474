/// @file
/// Scenes that are larger than a process: a piece at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "scenes/facts.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// Adds the triangles of a scene, its positions, and its polygons whose triangles overlap; path,
/// bounds and degenerate stay.
/// @throws SceneError if that is more than a scene may have.
void append(Scene& scene, const Scene& next);

/// Takes pieces, each of which is gone afterwards.
using UsePiece = std::function<void(const Scene& piece, std::uint64_t first_position)>;

/// Makes or reads a scene from its first triangle to its last, `name` as load() takes it. Pieces
/// may share positions, and have all of them together. A generated scene comes in pieces of 2^20
/// triangles at most, an OBJ file as one, a list as those of its scenes. Files are read on up to
/// `threads` threads (0: one a core).
/// @throws SceneError.
void read_in_pieces(const std::string& name, const UsePiece& use, unsigned threads = 0);

/// One of the shares of a scene that processes have.
struct Share {
    Scene scene;       ///< its triangles, and the positions that these need; or nothing
    SceneFacts facts;  ///< of the share; magnitudes perhaps of the whole scene
};

/// Makes or reads share i of n: triangles range_begin(i) to range_begin(i + 1) in the scene's
/// order. Of a generated scene nothing else is made. An OBJ file, whose faces may have any
/// vertices, is read as a whole, and what is not of the share is given up. Of a list, share i is
/// from i / n to (i + 1) / n of the way through its scenes, whatever their sizes: no other is read.
/// Files are read on up to `threads` threads (0: one a core).
/// @throws SceneError.
Share load_share(const std::string& name, std::uint32_t i, std::uint32_t n, unsigned threads = 0);

/// About how many triangles are gone through where load_share() makes or reads one of n shares.
std::uint64_t expected_triangles(const std::string& name, std::uint32_t n);

/// Where range i of n begins that share `triangles` evenly; for i = n, their end.
inline std::uint32_t range_begin(std::uint64_t triangles, std::uint64_t i, std::uint64_t n) {
    return static_cast<std::uint32_t>(triangles * i / n);
}

}  // namespace heapwood::scenes
