/// @file
/// The top of a tree whose triangles are spread over workers: which nodes are open, what becomes of
/// them, and which are cells, small enough to be built by themselves.
///
/// A level goes: each worker counts its references of every open node in bins; the counts and boxes
/// of all workers are added up, in any order; TopLevels decides; each worker divides its references
/// by the decisions, and counts those of the children in the same pass. What is decided here is
/// decided by the function of the ordinary builders, from the same numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kdtree/distributed/decision.h"
#include "kdtree/levels/level_input.h"
#include "kdtree/split/node_rules.cuh"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// The coordinator's side. It knows no triangle.
class TopLevels {
public:
    /// @param cell_limit a node of at most this many references is a cell, and so is one of so few
    /// that a decision looks at them (BuildConfig::snap_limit, exact_limit).
    TopLevels(const TreeRules& rules, const OpenNode& root, std::uint32_t cell_limit);

    /// What the workers begin with.
    TopStart start() const;

    /// The nodes of this level, whose bins are wanted; none: the top is finished.
    const std::vector<OpenNode>& open() const { return open_; }
    /// All cells so far.
    const std::vector<OpenNode>& cells() const { return cells_; }
    /// References of all open nodes and cells: at most as many as the finished tree has.
    std::uint64_t references() const;

    /// Decides on all open nodes by their bins, which are in the same order; their children are the
    /// next level.
    std::vector<Decision> decide(std::span<const Bins> bins);

    /// The finished top as a canonical tree, each of whose leaves is empty, or has one "reference",
    /// the number of a cell; planes and bounds are divided by `normalisation`.
    Tree tree(float normalisation) const;

private:
    struct Deciding : OpenNode {
        Split split;
    };

    Decision decide(const OpenNode& node, std::uint32_t place, const Bins& bins);
    bool add(const OpenNode& node, std::uint32_t place);
    void add_cell(const OpenNode& node, std::uint32_t place);

    TreeRules rules_;
    Box bounds_;
    std::uint32_t cell_limit_;
    std::vector<OpenNode> open_;
    std::vector<std::uint32_t> places_;  ///< of the open nodes in nodes_
    std::vector<OpenNode> cells_;
    std::vector<Node> nodes_;
};

}  // namespace heapwood::kdtree
