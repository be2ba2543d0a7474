/// @file
/// How the oracle searches a split: every candidate plane, and its cost by the surface area
/// heuristic in double precision. It shares no code with the builder's search.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kdtree/config.h"
#include "kdtree/model/box.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree::tests::oracle {

/// A triangle, and the part of its box that lies in the node's cell.
struct Reference {
    std::uint32_t triangle;
    Box box;
};

using References = std::vector<Reference>;

/// A plane, and where the references that lie in it go.
struct Split {
    unsigned axis;
    float position;
    bool planar_left;
};

/// What a split makes of a node.
struct Children {
    Box left_cell;
    Box right_cell;
    References left;
    References right;
};

/// A split and its cost.
struct Choice {
    Split split;
    double cost;
};

/// The boxes of all triangles of a scene: the root's references.
References all_references(const scenes::Scene& scene);

/// Cuts a node's cell and its references' boxes at a plane.
Children divide(const Box& cell, const References& references, const Split& split);

/// The box around references, of which there is at least one.
Box around(const References& references);

/// What it costs to intersect a ray with all references of a leaf.
double leaf_cost(const References& references, const BuildConfig& config);

/// The cost of a split; nothing if it would repeat the node in one child and leave the other empty,
/// or only cut off empty space and not pay, though it has to. Costs within a relative `tolerance`
/// of the limit pay if it is negative and do not if it is positive.
std::optional<double> cost(const Box& cell, const References& references, const Split& split,
                           const BuildConfig& config, double tolerance);

/// The planes at the references' ends along one axis.
std::vector<Split> ends(const References& references, unsigned axis);

/// Every plane that a small node may choose, by preference among equal costs.
std::vector<Split> all_planes(const Box& cell, const References& references);

/// Every plane that a larger node may choose before snapping: those of the bins of a frame, and
/// those that cut off empty space.
std::vector<Split> bin_planes(const Box& cell, const Box& frame, const References& references,
                              const BuildConfig& config);

/// The first of the cheapest; nothing if there is none.
std::optional<Choice> best(const std::vector<Split>& splits, const Box& cell,
                           const References& references, const BuildConfig& config,
                           double tolerance);

/// What decides whether a node is a leaf. Refers to the configuration.
class LeafRules {
public:
    LeafRules(const scenes::Scene& scene, const BuildConfig& config);

    /// Whether there is no need to look at planes. With a positive tolerance, whether that may be
    /// so; with a negative one, whether it surely is.
    bool at_once(const Box& cell, const References& references, std::uint32_t depth,
                 double tolerance) const;

    /// Whether a split of this cost gains too little to count as good.
    bool bad(const References& references, double cost) const;

    /// Whether a split is made that has `bad_above` bad ones above it.
    bool accepted(const References& references, double cost, std::uint32_t bad_above) const;

private:
    const BuildConfig& config_;
    std::uint32_t depth_limit_;
    std::uint32_t bad_limit_;
    double area_;
};

}  // namespace heapwood::kdtree::tests::oracle
