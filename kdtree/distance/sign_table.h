/// @file
/// The pseudo-normals of a scene's edges and corners, from which signs of distances come.
#pragma once

#include <cstdint>

#include "allocators/memory/buffer.h"
#include "kdtree/distance/sign_view.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Made once for a scene, by the host: 72 bytes a triangle. Corners at equal positions are one, and
/// edges between equal positions, whatever their numbers.
///
/// An edge's normal is the sum of the unit normals of its triangles, and a corner's that of its
/// triangles, each times the triangle's angle there. A triangle without area has neither, so a
/// surface that only such triangles close may have a wrong sign beside them.
class SignTable {
public:
    /// @throws allocators::BufferError.
    explicit SignTable(const scenes::Scene& scene,
                       allocators::Place place = allocators::Place::host);

    /// Valid as long as this object, also when it has moved.
    SignView view() const { return {normals_.as<glm::vec3>()}; }
    /// Edges that do not have one triangle for each of their two directions: at borders, where
    /// neighbours wind unlike, where more than two triangles meet. 0: signs are right.
    std::uint64_t open_edges() const { return open_edges_; }
    std::uint64_t bytes() const { return normals_.size(); }

private:
    allocators::Buffer normals_;
    std::uint64_t open_edges_ = 0;
};

}  // namespace heapwood::kdtree
