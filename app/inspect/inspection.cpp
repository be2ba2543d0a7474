#include "app/inspect/inspection.h"

#include <algorithm>

#include "allocators/platform/bits.cuh"
#include "kdtree/tree/probability.h"
#include "kdtree/tree/walk.h"

namespace heapwood::app {
namespace {

/// Up to here a bucket has one number.
constexpr std::uint32_t kSingle = 4;

std::size_t bucket_of(std::uint32_t number) {
    if (number <= kSingle) return number;
    return kSingle - 1 + platform::floor_log2(number - 1);
}

/// The bucket of a number; the list grows to have it.
Bucket& bucket(std::vector<Bucket>& buckets, std::uint32_t number) {
    const std::size_t wanted = bucket_of(number);
    while (buckets.size() <= wanted) {
        const std::uint32_t from = buckets.empty() ? 0 : buckets.back().to + 1;
        buckets.push_back({.from = from, .to = from <= kSingle ? from : 2 * (from - 1)});
    }
    return buckets[wanted];
}

/// Keeps the first `longest` of a list in their order.
template <class T, class Before>
void keep_first(std::vector<T>& list, std::size_t longest, const Before& before) {
    const auto kept = static_cast<std::ptrdiff_t>(std::min(longest, list.size()));
    std::partial_sort(list.begin(), list.begin() + kept, list.end(), before);
    list.resize(static_cast<std::size_t>(kept));
}

void count_duplications(const kdtree::Tree& tree, std::uint64_t triangles, std::size_t longest,
                        Inspection& to) {
    std::vector<std::uint32_t> leaves(triangles, 0);
    for (const std::uint32_t triangle : tree.references) ++leaves[triangle];
    std::vector<SpreadTriangle>& all = to.spread_triangles;
    for (std::uint32_t i = 0; i < triangles; ++i) {
        Bucket& same = bucket(to.duplications, leaves[i]);
        ++same.count;
        same.references += leaves[i];
        all.push_back({i, leaves[i]});
    }
    keep_first(all, longest, [](const SpreadTriangle& a, const SpreadTriangle& b) {
        return a.leaves != b.leaves ? a.leaves > b.leaves : a.triangle < b.triangle;
    });
}

}  // namespace

Inspection inspect(const kdtree::Tree& tree, std::uint64_t triangles, double traversal_cost,
                   double intersection_cost, std::size_t longest) {
    Inspection found;
    found.quality = kdtree::quality(tree, triangles);
    found.cost = found.quality.sah(traversal_cost, intersection_cost);
    const kdtree::Probability probability(tree.bounds);
    kdtree::walk(tree, [&](std::uint32_t number, const kdtree::Box& cell, std::uint32_t depth) {
        if (found.levels.size() <= depth) found.levels.resize(depth + 1);
        Level& level = found.levels[depth];
        const kdtree::Node node = tree.nodes[number];
        if (!node.is_leaf()) {
            ++level.inner_nodes;
            level.traversal_cost += traversal_cost * probability(cell);
            return;
        }
        const double cost = intersection_cost * probability(cell) * node.count();
        ++(node.count() > 0 ? level.leaves : level.empty_leaves);
        level.references += node.count();
        level.intersection_cost += cost;
        Bucket& size = bucket(found.leaf_sizes, node.count());
        ++size.count;
        size.references += node.count();
        size.cost += cost;
        if (cost > 0) found.costly_leaves.push_back({number, depth, node.count(), cost, cell});
    });
    keep_first(found.costly_leaves, longest, [](const CostlyLeaf& a, const CostlyLeaf& b) {
        return a.cost != b.cost ? a.cost > b.cost : a.node < b.node;
    });
    count_duplications(tree, triangles, longest, found);
    return found;
}

}  // namespace heapwood::app
