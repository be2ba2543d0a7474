/// @file
/// Scenes and trees made for what rays may meet in them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

/// A sphere of triangles, wound alternately, around the origin.
inline scenes::Scene closed_surface(unsigned rings, unsigned sectors, Dice& dice) {
    std::vector<glm::vec3> ring_points;
    const auto point = [&](unsigned r, unsigned s) {
        const float up = 3.14159265F * static_cast<float>(r) / static_cast<float>(rings);
        const float round =
            6.2831853F * static_cast<float>(s % sectors) / static_cast<float>(sectors);
        const bool pole = r == 0 || r == rings;
        const float radius = pole ? 0 : std::sin(up);
        return glm::vec3{radius * std::cos(round), pole ? (r == 0 ? 1.0F : -1.0F) : std::cos(up),
                         radius * std::sin(round)};
    };
    std::vector<glm::vec3> corners;
    for (unsigned r = 0; r < rings; ++r) {
        for (unsigned s = 0; s < sectors; ++s) {
            const auto a = point(r, s), b = point(r, s + 1), c = point(r + 1, s),
                       d = point(r + 1, s + 1);
            if (dice.below(2) == 0) {
                corners.insert(corners.end(), {a, b, c, b, c, d});
            } else {
                corners.insert(corners.end(), {a, b, d, d, a, c});
            }
        }
    }
    return scene_of(corners, "closed surface");
}

/// A tree whose leaves are worth a warp's help: see RayTree::has_large_leaves.
inline Tree tree_of_large_leaves(const scenes::Scene& scene) {
    BuildConfig config;
    config.traversal_cost = 50;
    return oracle_tree(scene, config);
}

/// A tree as deep as trees may be, each leaf but one the far child of an inner node for a ray along
/// x: every node waits on the stack at once. Triangle i is at x = i + 0.5.
struct DeepTree {
    scenes::Scene scene;
    Tree tree;

    DeepTree() {
        std::vector<glm::vec3> corners;
        for (std::uint32_t i = 0; i <= kMaxDepth; ++i) {
            const float x = static_cast<float>(i) + 0.5F;
            corners.insert(corners.end(), {{x, 0, 0}, {x, 4, 0}, {x, 0, 4}});
        }
        scene = scene_of(corners, "as deep as can be");
        tree.bounds = {scene.bounds.lo, scene.bounds.hi};
        for (std::uint32_t i = 0; i <= kMaxDepth; ++i) tree.references.push_back(i);
        for (std::uint32_t level = 0; level < kMaxDepth; ++level) {
            const std::uint32_t last = kMaxDepth - level;  // triangles in this cell: 0 .. last
            const Node node = Node::inner(0, static_cast<float>(last), 2 * level + 1);
            if (level == 0) {
                tree.nodes.push_back(node);
            } else {
                tree.nodes[2 * level - 1] = node;
            }
            tree.nodes.push_back(Node::leaf(0, 1));
            tree.nodes.push_back(Node::leaf(last, 1));
        }
    }
};

}  // namespace heapwood::kdtree::tests
