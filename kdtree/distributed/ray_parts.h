/// @file
/// Rays through a tree that is divided among workers: each has some cells and the top, and rays go
/// on from worker to worker along their way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/distributed/ray_cells.h"
#include "kdtree/distributed/ray_top.h"
#include "kdtree/rays/ray_tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// What is asked about rays: where the first hit is, or whether there is any.
enum class RayQuestion { closest, any };

/// What one worker has of a tree.
class RayPart {
public:
    /// No part.
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    /// Keeps the top, and the cells of a part with their triangles, laid out for rays on a CPU.
    /// Neither tree nor scene is needed afterwards.
    /// @throws std::invalid_argument for a part that there is not, and as RayTree and ray_cells.
    RayPart(const Tree& tree, const scenes::Scene& scene, std::uint32_t parts, std::uint32_t part);

    RayPart(RayPart&&) = default;
    RayPart& operator=(RayPart&&) = default;
    RayPart(const RayPart&) = delete;
    RayPart& operator=(const RayPart&) = delete;
    ~RayPart() = default;

    /// Takes rays through cells of this part for as long as the next cell on their way is one.
    /// @param next by ray: the part that it goes on to. kNone: it is at its end, and `hit` is the
    /// answer. For RayQuestion::any only hit.found() has a meaning then.
    /// @param threads 0: one a core.
    void go_on(std::span<PassingRay> rays, RayQuestion question, std::span<std::uint32_t> next,
               unsigned threads = 0) const;

    /// Of the cells and the top.
    std::uint64_t bytes() const;

private:
    RayPart(const Tree& tree, const scenes::Scene& scene, RayCells cells, std::uint32_t parts,
            std::uint32_t part);

    void trace(std::uint32_t cell, std::span<PassingRay> rays,
               const std::vector<std::uint32_t>& places, RayQuestion question,
               unsigned threads) const;

    RayTop top_;
    std::vector<std::uint32_t> parts_;  ///< by cell
    std::uint32_t part_;
    std::uint32_t first_ = 0;     ///< of the part's cells
    std::vector<RayTree> cells_;  ///< from that one on
};

}  // namespace heapwood::kdtree
