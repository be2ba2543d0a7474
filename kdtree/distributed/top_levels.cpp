#include "kdtree/distributed/top_levels.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_input.h"
#include "kdtree/split/decide.cuh"
#include "kdtree/tree/canonical.h"

namespace heapwood::kdtree {

TopLevels::TopLevels(const TreeRules& rules, const OpenNode& root, std::uint32_t cell_limit)
    : rules_(rules),
      bounds_(root.cell),
      cell_limit_(std::max({cell_limit, rules.snap_limit, rules.exact_limit})),
      nodes_{Node::leaf(0, 0)} {
    add(root, 0);
}

TopStart TopLevels::start() const {
    return {.frame = BinFrame::of(bounds_, rules_.grid), .open = open_.empty() ? 0U : 1U};
}

std::uint64_t TopLevels::references() const {
    const auto sum = [](const std::vector<OpenNode>& nodes) {
        return std::accumulate(
            nodes.begin(), nodes.end(), std::uint64_t{0},
            [](std::uint64_t total, const OpenNode& node) { return total + node.count; });
    };
    return sum(open_) + sum(cells_);
}

std::vector<Decision> TopLevels::decide(std::span<const Bins> bins) {
    if (bins.size() != open_.size()) {
        throw std::invalid_argument("there are bins of " + std::to_string(bins.size()) +
                                    " nodes, and " + std::to_string(open_.size()) + " are open");
    }
    const std::vector<OpenNode> nodes = std::exchange(open_, {});
    const std::vector<std::uint32_t> places = std::exchange(places_, {});
    std::vector<Decision> decisions;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        decisions.push_back(decide(nodes[i], places[i], bins[i]));
    }
    return decisions;
}

Decision TopLevels::decide(const OpenNode& node, std::uint32_t place, const Bins& bins) {
    const BinFrame frame = BinFrame::of(node.tight, rules_.grid);
    Deciding now{node, {}};
    const platform::SerialWarp warp;
    const BinnedSearch<platform::SerialWarp> search(warp, bins, frame, now.count);
    std::vector<Split> cuts;
    kdtree::decide(
        rules_, now,
        [&] {
            // So many references that none of them is looked at.
            return best_binned(warp, rules_, search, nullptr, now);
        },
        [&](const Split& cut) {
            now.cell = part_of(now.cell, cut, cut.left == 0 ? 1 : 0);
            ++now.depth;
            cuts.push_back(cut);
            return true;
        });
    Decision decision{.split = now.split, .frames = {}, .open = {}};
    if (now.split.axis == Split::kMakeLeaf) {
        add_cell(node, place);  // whose builder decides the same once more
        return decision;
    }
    const auto add_pair = [&](const Split& split) {
        const auto pair = static_cast<std::uint32_t>(nodes_.size());
        nodes_[place] = Node::inner(split.axis, split.position, pair);
        nodes_.resize(nodes_.size() + 2, Node::leaf(0, 0));
        return pair;
    };
    for (const Split& cut : cuts) place = add_pair(cut) + (cut.left == 0 ? 1 : 0);
    const std::uint32_t pair = add_pair(now.split);
    for (unsigned side = 0; side < 2; ++side) {
        const OpenNode child{.cell = part_of(now.cell, now.split, side),
                             .tight = part_of(now.tight, now.split, side),
                             .count = side == 0 ? now.split.left : now.split.right,
                             .depth = now.depth + 1,
                             .bad_splits = now.bad_splits};
        decision.open[side] = add(child, pair + side) ? 1 : 0;
        decision.frames[side] = BinFrame::of(child.tight, rules_.grid);
    }
    return decision;
}

/// @return whether the node is open, and no cell.
bool TopLevels::add(const OpenNode& node, std::uint32_t place) {
    if (node.count <= cell_limit_ || rules_.must_be_leaf(node.count, node.depth, node.cell)) {
        add_cell(node, place);
        return false;
    }
    open_.push_back(node);
    places_.push_back(place);
    return true;
}

void TopLevels::add_cell(const OpenNode& node, std::uint32_t place) {
    nodes_[place] = Node::leaf(static_cast<std::uint32_t>(cells_.size()), 1);
    cells_.push_back(node);
}

Tree TopLevels::tree(float normalisation) const {
    std::vector<std::uint32_t> numbers(cells_.size());
    std::iota(numbers.begin(), numbers.end(), 0U);
    const Box bounds{bounds_.lo / normalisation, bounds_.hi / normalisation};
    Tree tree = canonical(nodes_, numbers, bounds);
    denormalise(tree.nodes, normalisation);
    return tree;
}

}  // namespace heapwood::kdtree
