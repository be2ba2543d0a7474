/// @file
/// Lays a tree out for rays.
#include "kdtree/rays/ray_tree.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "kdtree/config.h"
#include "kdtree/for_chunks.h"
#include "kdtree/rays/large_pages.h"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

/// Nodes, or references, that a thread takes at a time.
constexpr std::uint64_t kChunk = 1 << 14;

[[noreturn]] void refuse(std::size_t node, const std::string& what) {
    throw std::runtime_error("the tree cannot be laid out for rays: node " + std::to_string(node) +
                             " " + what);
}

/// Checks all that a walk relies on: children come in pairs after their parent, so that a walk
/// ends; no path is longer than the walk's stack; references and triangles exist.
void check(const Tree& tree, const scenes::Scene& scene) {
    const std::size_t nodes = tree.nodes.size();
    if ((nodes + 1) / 2 >= RayNode::kLimit) refuse(nodes - 1, "is one too many");
    std::vector<std::uint8_t> depth(nodes, 0);
    for (std::size_t i = 0; i < nodes; ++i) {
        const Node node = tree.nodes[i];
        if (node.is_leaf()) {
            if (std::uint64_t{node.first()} + node.count() > tree.references.size()) {
                refuse(i, "has references beyond the last");
            }
            if (node.count() >= RayNode::kLimit) refuse(i, "has too many references");
            continue;
        }
        if (node.child() <= i || node.child() % 2 == 0 || node.child() + 1 >= nodes) {
            refuse(i, "has a child " + std::to_string(node.child()) + ": not in canonical form");
        }
        if (depth[i] >= kMaxDepth) {
            refuse(i, "is an inner node at depth " + std::to_string(kMaxDepth));
        }
        const auto below = static_cast<std::uint8_t>(depth[i] + 1);
        depth[node.child()] = std::max(depth[node.child()], below);
        depth[node.child() + 1] = std::max(depth[node.child() + 1], below);
    }
    for (const std::uint32_t triangle : tree.references) {
        if (triangle >= scene.triangles.size()) {
            throw std::runtime_error(
                "the tree cannot be laid out for rays: it refers to triangle " +
                std::to_string(triangle) + " of " + std::to_string(scene.triangles.size()));
        }
    }
}

bool large_leaves(const Tree& tree) {
    constexpr std::uint32_t kLarge = 16;
    std::uint64_t in_large_ones = 0;
    for (const Node node : tree.nodes) {
        if (node.is_leaf() && node.count() > kLarge) in_large_ones += node.count();
    }
    return in_large_ones * 64 > tree.references.size();
}

/// A buffer at `place` with what `fill` writes to host memory.
template <class T, class Fill>
Buffer filled(Place place, std::uint64_t count, const Fill& fill) {
    Buffer host(Place::host, count * sizeof(T));
    if (place == Place::host) prefer_large_pages(host);
    fill(host.as<T>());
    if (place == Place::host) return host;
    Buffer there(place, count * sizeof(T));
    there.write(0, host.data(), host.size());
    return there;
}

}  // namespace

RayNode ray_node(const Tree& tree, const Node& node) {
    if (node.is_leaf()) return RayNode::leaf(node.first(), node.count());
    const auto is_empty = [](const Node& n) { return n.is_leaf() && n.count() == 0; };
    return RayNode::inner(node.axis(), node.payload, (node.child() + 1) / 2,
                          is_empty(tree.nodes[node.child()]),
                          is_empty(tree.nodes[node.child() + 1]));
}

RayTree::RayTree(const Tree& tree, const scenes::Scene& scene, Place place) : view_{} {
    check(tree, scene);
    has_large_leaves_ = large_leaves(tree);
    const std::uint64_t below_root = tree.nodes.empty() ? 0 : tree.nodes.size() - 1;
    nodes_ = filled<RayNode>(place, 2 + below_root, [&](RayNode* pairs) {
        pairs[0] = pairs[1] = RayNode::end();
        RayNode* to = pairs + 2;
        for_chunks(below_root, kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) to[i] = ray_node(tree, tree.nodes[i + 1]);
        });
    });
    rows_ = filled<CornerRow>(place, 3 * tree.references.size(), [&](CornerRow* to) {
        for_chunks(tree.references.size(), kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) {
                const std::uint32_t number = tree.references[i];
                const glm::uvec3 t = scene.triangles[number];
                const glm::vec3& a = scene.positions[t.x];
                const glm::vec3& b = scene.positions[t.y];
                const glm::vec3& c = scene.positions[t.z];
                to[3 * i] = {a.x, b.x, c.x, number};
                to[3 * i + 1] = {a.y, b.y, c.y, number};
                to[3 * i + 2] = {a.z, b.z, c.z, number};
            }
        });
    });
    if (place == Place::host && WideTree::is_supported())
        wide_.emplace(tree, rows_.as<CornerRow>());
    view_ = {nodes_.as<RayNode>(), rows_.as<CornerRow>(),
             tree.nodes.empty() ? RayNode::leaf(0, 0) : ray_node(tree, tree.nodes[0]), tree.bounds};
}

}  // namespace heapwood::kdtree
