#include "kdtree/distributed/ray_top.h"

#include "kdtree/rays/ray_tree.h"
#include "kdtree/rays/ray_walk.cuh"

namespace heapwood::kdtree {
namespace {

/// Machines that round differently must count the same cells.
struct AlikeEverywhere : Unwatched {
    static constexpr bool kReproducible = true;
};

}  // namespace

RayTop::RayTop(const Tree& top) : bounds_(top.bounds) {
    nodes_.reserve(top.nodes.size() + 1);
    nodes_.push_back(RayNode::end());
    for (const Node& node : top.nodes) nodes_.push_back(ray_node(top, node));
}

std::uint32_t RayTop::next_cell(PassingRay& passing) const {
    const Ray& ray = passing.ray;
    if (!ray.is_valid()) return kNone;
    const RayTreeView view{nodes_.data(), nullptr, bounds_};
    OwnMemory::Storage storage;
    RayWalk<OwnMemory, AlikeEverywhere> walk(view, ray, OwnMemory(storage));
    // The limit stays the ray's own end: with another one cells would be left out of the count.
    for (std::uint32_t i = 0; walk.descend(view, ray.t_max); ++i, walk.leave(view, ray.t_max)) {
        if (i < passing.passed) continue;
        if (!(passing.hit.found() && walk.from() > passing.hit.t)) return walk.leaf().first();
        ++passing.passed;
    }
    return kNone;
}

}  // namespace heapwood::kdtree
