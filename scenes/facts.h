/// @file
/// What is to be known of a scene that is in memory piece by piece.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "scenes/scene.h"

namespace heapwood::scenes {

/// How far coordinates reach, those of vertices without a triangle among them: whether multiplying
/// by a power of two changes any.
struct Magnitudes {
    /// The least of the lowest bits of the coordinates that are not 0: all are multiples of it.
    float grain = std::numeric_limits<float>::infinity();
    float largest = 0;  ///< of all absolute values

    void add(const Magnitudes& other);
    bool operator==(const Magnitudes&) const = default;
};

Magnitudes magnitudes(std::span<const glm::vec3> positions);

/// What is known of triangles that follow one another in a scene.
struct SceneFacts {
    std::uint64_t triangles = 0;
    std::uint64_t degenerate = 0;
    std::uint64_t overlapping = 0;  ///< as Scene has it
    Bounds bounds;
    Magnitudes magnitudes;
    /// Depends on the corners of all triangles, and on their order, not on the numbers of vertices.
    std::uint64_t hash = 0;

    /// Adds those of the triangles that come next in the scene.
    void append(const SceneFacts& next);
    /// Whether they are of the same triangles.
    bool operator==(const SceneFacts& other) const {
        return triangles == other.triangles && hash == other.hash && magnitudes == other.magnitudes;
    }
};

SceneFacts facts_of(const Scene& scene);

}  // namespace heapwood::scenes
