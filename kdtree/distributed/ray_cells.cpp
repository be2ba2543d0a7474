#include "kdtree/distributed/ray_cells.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>

namespace heapwood::kdtree {
namespace {

constexpr std::uint64_t kCellsOfPart = 8;

/// By node: the references of all leaves below it.
std::vector<std::uint64_t> references_below(const Tree& tree) {
    std::vector<std::uint64_t> below(tree.nodes.size());
    // Children come after their parents.
    for (std::size_t i = tree.nodes.size(); i-- > 0;) {
        const Node node = tree.nodes[i];
        below[i] = node.is_leaf() ? node.count() : below[node.child()] + below[node.child() + 1];
    }
    return below;
}

/// Copies a tree from the root in pre-order, as canonical form wants it.
/// @param end (number of a node, the copy's references): the leaf that takes the node's place, or
/// nothing if the node's children are copied, too.
template <class End>
Tree copied(const Tree& tree, const End& end) {
    struct Pending {
        std::uint32_t from;
        std::uint32_t to;
    };
    Tree copy{.nodes = {Node::leaf(0, 0)}, .references = {}, .bounds = tree.bounds};
    std::vector<Pending> pending{{0, 0}};
    while (!pending.empty()) {
        const auto [from, to] = pending.back();
        pending.pop_back();
        if (const std::optional<Node> leaf = end(from, copy.references)) {
            copy.nodes[to] = *leaf;
            continue;
        }
        const Node node = tree.nodes[from];
        const auto pair = static_cast<std::uint32_t>(copy.nodes.size());
        copy.nodes[to] = {node.payload, pair << 2 | node.axis()};
        copy.nodes.insert(copy.nodes.end(), 2, Node::leaf(0, 0));
        pending.push_back({node.child() + 1, pair + 1});
        pending.push_back({node.child(), pair});
    }
    return copy;
}

/// A leaf of references that are added now.
Node next_leaf(std::vector<std::uint32_t>& to, std::span<const std::uint32_t> references) {
    const Node leaf = Node::leaf(static_cast<std::uint32_t>(to.size()),
                                 static_cast<std::uint32_t>(references.size()));
    to.insert(to.end(), references.begin(), references.end());
    return leaf;
}

/// Whether a node is below another one: in canonical form those follow one another.
bool is_below(const Tree& tree, std::uint32_t other, std::uint32_t number) {
    if (tree.nodes[other].is_leaf()) return false;
    const std::uint32_t first = tree.nodes[other].child();
    std::uint32_t last = first + 1;
    for (std::uint32_t at = other; !tree.nodes[at].is_leaf();) {
        const std::uint32_t low = tree.nodes[at].child();
        last = low + 1;
        at = tree.nodes[low + 1].is_leaf() ? low : low + 1;
    }
    return first <= number && number <= last;
}

}  // namespace

RayCells ray_cells(const Tree& tree, std::uint32_t parts) {
    if (parts == 0) throw std::invalid_argument("rays need at least one part of a tree");
    const std::vector<std::uint64_t> below = references_below(tree);
    const std::uint64_t all = below.front();
    const std::uint64_t most = all / (kCellsOfPart * parts);
    RayCells cells;
    std::uint64_t before = 0;
    cells.top = copied(tree, [&](std::uint32_t number, auto& references) -> std::optional<Node> {
        if (below[number] > most && !tree.nodes[number].is_leaf()) return {};
        if (below[number] == 0) return next_leaf(references, {});
        const auto cell = static_cast<std::uint32_t>(cells.roots.size());
        cells.roots.push_back(number);
        cells.parts.push_back(static_cast<std::uint32_t>(before * parts / all));
        before += below[number];
        return next_leaf(references, std::array{cell});
    });
    return cells;
}

Tree tree_with_cell(const Tree& tree, const RayCells& cells, std::uint32_t cell) {
    const std::uint32_t root = cells.roots[cell];
    std::vector<std::uint32_t> above;
    for (std::uint32_t number = 0; number != root;) {
        above.push_back(number);
        const std::uint32_t low = tree.nodes[number].child();
        number = root == low || is_below(tree, low, root) ? low : low + 1;
    }
    const auto is_above = [&](std::uint32_t number) {
        return std::ranges::find(above, number) != above.end();
    };
    return copied(tree, [&](std::uint32_t number, auto& references) -> std::optional<Node> {
        if (is_above(number)) return {};
        if (number != root && !is_below(tree, root, number)) return next_leaf(references, {});
        const Node node = tree.nodes[number];
        if (!node.is_leaf()) return {};
        return next_leaf(references,
                         std::span(tree.references).subspan(node.first(), node.count()));
    });
}

}  // namespace heapwood::kdtree
