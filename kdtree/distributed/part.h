/// @file
/// A worker's side of the top of a tree: its part of the triangles, and its references of the open
/// nodes and cells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/distributed/top_levels.h"
#include "kdtree/model/reference.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Triangles `begin` to `end` of a scene that may itself be a part of the whole one.
struct TriangleRange {
    const scenes::Scene* scene;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t offset = 0;  ///< number in the whole scene of the scene's triangle 0
};

/// The references of a cell, each with its triangle; those of all workers, or of one.
struct CellReferences {
    std::vector<Reference> references;   ///< name triangles by their place here
    std::vector<Triangle> triangles;     ///< normalised
    std::vector<std::uint32_t> numbers;  ///< of the triangles in the whole scene, ascending

    /// Makes room for so many references and as many triangles.
    void reserve(std::size_t count);
    /// Adds those of a worker whose triangles come later in the scene.
    void append(std::span<const Reference> later, std::span<const Triangle> their_triangles,
                std::span<const std::uint32_t> their_numbers);
};

/// The references that are there in memory are those of a level, and once more those of one node.
class Part {
public:
    /// Refers to the scene. @param scale what coordinates are multiplied by (normalisation()).
    /// @param clip BuildConfig::clip.
    Part(const TriangleRange& range, float scale, bool clip)
        : range_(range), scale_(scale), clip_(clip) {}

    /// Makes the root's references. @return their bins, if the root is open.
    std::vector<Bins> start(const TopStart& start);

    /// Divides the references of the open nodes. @return the bins of the next level's, in order.
    /// @throws std::invalid_argument if there are not as many decisions as open nodes.
    std::vector<Bins> divide(std::span<const Decision> decisions);

    /// The references of a cell, which the part then has no longer.
    /// @throws std::invalid_argument if there is no such cell.
    CellReferences take(std::uint32_t cell);

private:
    using References = std::vector<Reference>;  ///< that name triangles from range_.begin

    std::vector<Triangle> triangles() const;
    void divide(const References& node, const std::vector<Triangle>& triangles,
                const Decision& decision, std::vector<Bins>& bins);

    TriangleRange range_;
    float scale_;
    bool clip_;
    std::vector<References> open_;
    std::vector<References> cells_;
};

}  // namespace heapwood::kdtree
