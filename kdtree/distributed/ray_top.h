/// @file
/// The way of a ray through the cells of a divided tree.
#pragma once

#include <cstdint>
#include <vector>

#include "kdtree/model/triangle.cuh"
#include "kdtree/rays/ray_layout.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// A ray that is on its way through the cells, with all that is known of it: plain data of 64
/// bytes, which passes from worker to worker.
struct PassingRay {
    Ray ray{};
    Hit hit{};                 ///< the first one in the cells behind it
    std::uint32_t number = 0;  ///< the caller's own
    std::uint32_t passed = 0;  ///< how many of the cells on its way are behind it
};
static_assert(sizeof(PassingRay) == 64);

/// The top of a tree, which every worker has.
class RayTop {
public:
    /// No cell.
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    /// @param top of RayCells. 8 bytes a node; `top` is not needed afterwards.
    explicit RayTop(const Tree& top);

    /// The next cell on a ray's way that may have a hit before the one that is known, or at the
    /// same t; `passed` then counts the cells that are left out. The way is the one through the
    /// whole tree, front to back, and depends on nothing but the ray. kNone: the ray is at its end.
    std::uint32_t next_cell(PassingRay& passing) const;

    std::uint64_t bytes() const { return nodes_.size() * sizeof(RayNode); }

private:
    std::vector<RayNode> nodes_;  ///< as RayTreeView has them
    Box bounds_;
};

}  // namespace heapwood::kdtree
