/// @file
/// verify accepts correct trees, and reports every kind of damage, as an independent oracle does.
#include "kdtree/tree/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <vector>

#include "kdtree/config.h"
#include "kdtree/tree/walk.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/overlap.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree {
namespace {

using tests::Dice;

std::array<glm::vec3, 3> corners(const scenes::Scene& scene, std::uint32_t triangle) {
    const glm::uvec3 t = scene.triangles[triangle];
    return {scene.positions[t.x], scene.positions[t.y], scene.positions[t.z]};
}

std::optional<std::string> check(const scenes::Scene& scene, const Tree& tree) {
    return verify(scene, tree, kMaxDepth);
}

/// A configuration that splits as far as planes go.
BuildConfig deep() {
    BuildConfig config;
    config.leaf_limit = 1;
    config.traversal_cost = 0.1F;
    return config;
}

/// A tree taken apart: each leaf with references of its own, so that it can be damaged.
struct Parts {
    std::vector<Node> nodes;
    std::vector<std::vector<std::uint32_t>> leaves;  ///< by node
    Box bounds;

    explicit Parts(const Tree& tree)
        : nodes(tree.nodes), leaves(tree.nodes.size()), bounds(tree.bounds) {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!nodes[i].is_leaf()) continue;
            const auto first = tree.references.begin() + nodes[i].first();
            leaves[i].assign(first, first + nodes[i].count());
        }
    }

    /// Put together in the order the references are in; nodes as they are.
    Tree tree() const {
        Tree result{nodes, {}, bounds};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!nodes[i].is_leaf()) continue;
            result.nodes[i] = Node::leaf(static_cast<std::uint32_t>(result.references.size()),
                                         static_cast<std::uint32_t>(leaves[i].size()));
            result.references.insert(result.references.end(), leaves[i].begin(), leaves[i].end());
        }
        return canonical(result.nodes, result.references, bounds);
    }
};

/// The largest depth by which a triangle reaches into a leaf's cell without being in the leaf, or
/// by which a reference's box is outside of it. A flat cell has no interior to reach into.
double worst_error(const scenes::Scene& scene, const Tree& tree) {
    double worst = -INFINITY;
    walk(tree, [&](std::uint32_t number, const Box& cell, std::uint32_t) {
        const Node node = tree.nodes[number];
        if (!node.is_leaf()) return;
        const bool flat =
            cell.lo.x == cell.hi.x || cell.lo.y == cell.hi.y || cell.lo.z == cell.hi.z;
        const auto first = tree.references.begin() + node.first();
        for (std::uint32_t t = 0; t < scene.triangles.size(); ++t) {
            const auto c = corners(scene, t);
            if (!std::binary_search(first, first + node.count(), t)) {
                if (!flat) worst = std::max(worst, -tests::separation(c, cell));
                continue;
            }
            for (int k = 0; k < 3; ++k) {
                worst = std::max({worst, double{std::min({c[0][k], c[1][k], c[2][k]})} - cell.hi[k],
                                  double{cell.lo[k]} - std::max({c[0][k], c[1][k], c[2][k]})});
            }
        }
    });
    return worst;
}

TEST(Verify, AcceptsReferenceTrees) {
    Dice dice;
    for (const std::string& kind : tests::scene_kinds()) {
        for (const unsigned count : {1U, 2U, 7U, 60U, 250U}) {
            const auto scene = tests::random_scene(kind, count, dice());
            for (const BuildConfig& config : {BuildConfig{}, deep()}) {
                const Tree tree = tests::oracle_tree(scene, config);
                const auto found = verify(scene, tree, max_depth(config, count));
                EXPECT_EQ(found, std::nullopt) << scene.path << ": " << *found;
            }
        }
    }
}

/// Integer corners, none of the triangles in an axis-aligned plane: the oracle is exact.
scenes::Scene oblique_grid(unsigned count, std::uint64_t seed) {
    const auto all = tests::random_scene("grid", 3 * count, seed);
    std::vector<glm::vec3> kept;
    for (std::uint32_t t = 0; t < all.triangles.size(); ++t) {
        const auto c = corners(all, t);
        bool flat = false;
        for (int k = 0; k < 3; ++k) flat = flat || (c[0][k] == c[1][k] && c[1][k] == c[2][k]);
        if (!flat && kept.size() < 3 * count) kept.insert(kept.end(), c.begin(), c.end());
    }
    return tests::scene_of(kept);
}

TEST(Verify, AcceptsTightTrees) {
    // Only what overlaps a cell's interior stays: what perfect clipping would leave.
    Dice dice;
    std::size_t dropped = 0;
    for (unsigned i = 0; i < 40; ++i) {
        const auto scene = oblique_grid(30, dice());
        Parts parts(tests::oracle_tree(scene, deep()));
        walk(parts.tree(), [&](std::uint32_t number, const Box& cell, std::uint32_t) {
            dropped += std::erase_if(parts.leaves[number], [&](std::uint32_t t) {
                return tests::separation(corners(scene, t), cell) >= 0;
            });
        });
        const auto found = check(scene, parts.tree());
        EXPECT_EQ(found, std::nullopt) << *found;
    }
    EXPECT_GT(dropped, 0U);
}

TEST(Verify, AgreesWithSeparatingAxesOnEveryMissingReference) {
    Dice dice;
    unsigned needed = 0;
    unsigned idle = 0;
    for (unsigned i = 0; i < 40; ++i) {
        const auto scene = oblique_grid(25, dice());
        const Parts good(tests::oracle_tree(scene, deep()));
        for (std::size_t leaf = 0; leaf < good.leaves.size(); ++leaf) {
            for (std::size_t j = 0; j < good.leaves[leaf].size(); ++j) {
                Parts bad = good;
                bad.leaves[leaf].erase(bad.leaves[leaf].begin() + static_cast<std::ptrdiff_t>(j));
                const bool wrong = worst_error(scene, bad.tree()) > 0;
                (wrong ? needed : idle)++;
                ASSERT_EQ(check(scene, bad.tree()).has_value(), wrong);
            }
        }
    }
    EXPECT_GT(needed, 100U);
    EXPECT_GT(idle, 100U);
}

TEST(Verify, AgreesOnRandomDamage) {
    Dice dice;
    unsigned wrong_trees = 0;
    unsigned right_trees = 0;
    for (unsigned i = 0; i < 2000; ++i) {
        const auto scene = oblique_grid(12, dice());
        const Tree good = tests::oracle_tree(scene, deep());
        if (good.nodes.size() < 5) continue;
        Parts parts(good);
        const std::size_t at = dice.below(parts.nodes.size());
        const std::size_t other = dice.below(parts.nodes.size());
        Node& node = parts.nodes[at];
        switch (dice.below(4)) {
            case 0:  // move a plane to another place on the grid
                if (node.is_leaf()) continue;
                node =
                    Node::inner(node.axis(), static_cast<float>(dice.integer(0, 4)), node.child());
                break;
            case 1:  // turn a plane
                if (node.is_leaf()) continue;
                node = Node::inner((node.axis() + 1) % 3, node.split(), node.child());
                break;
            case 2:  // swap two children
                if (node.is_leaf()) continue;
                std::swap(parts.nodes[node.child()], parts.nodes[node.child() + 1]);
                std::swap(parts.leaves[node.child()], parts.leaves[node.child() + 1]);
                break;
            default:  // move a reference
                if (parts.leaves[at].empty() || !parts.nodes[other].is_leaf()) continue;
                const std::uint32_t t = parts.leaves[at].back();
                parts.leaves[at].pop_back();
                if (std::ranges::count(parts.leaves[other], t) == 0) {
                    parts.leaves[other].push_back(t);
                }
        }
        const Tree tree = parts.tree();
        bool planes_inside = true;
        walk(tree, [&](std::uint32_t number, const Box& cell, std::uint32_t) {
            const Node n = tree.nodes[number];
            planes_inside =
                planes_inside && (n.is_leaf() || (component(cell.lo, n.axis()) <= n.split() &&
                                                  n.split() <= component(cell.hi, n.axis())));
        });
        const bool wrong = !planes_inside || worst_error(scene, tree) > 0;
        (wrong ? wrong_trees : right_trees)++;
        const auto found = check(scene, tree);
        ASSERT_EQ(found.has_value(), wrong) << (found ? *found : "nothing found");
    }
    EXPECT_GT(wrong_trees, 300U);
    EXPECT_GT(right_trees, 30U);
}

TEST(Verify, SeesMissingReferencesAtAnyScale) {
    Dice dice;
    for (const std::string kind : {"soup", "slivers", "far", "huge", "tiny"}) {
        const auto scene = tests::random_scene(kind, 60, dice());
        const Parts good(tests::oracle_tree(scene, BuildConfig{}));
        double size = 0;
        for (int k = 0; k < 3; ++k) {
            size = std::max(
                {size, std::abs(double{scene.bounds.lo[k]}), std::abs(double{scene.bounds.hi[k]})});
        }
        unsigned decided = 0;
        for (unsigned i = 0; i < 200; ++i) {
            Parts bad = good;
            auto& leaf = bad.leaves[dice.below(bad.leaves.size())];
            if (leaf.empty()) continue;
            leaf.erase(leaf.begin() + dice.below(leaf.size()));
            const double error = worst_error(scene, bad.tree()) / size;
            if (std::abs(error) < 1e-9) continue;
            ++decided;
            ASSERT_EQ(check(scene, bad.tree()).has_value(), error > 0) << kind << ' ' << error;
        }
        EXPECT_GT(decided, 20U) << kind;
    }
}

/// Two triangles in the plane x = 1 of a cell from 0 to 2, and one on either side.
scenes::Scene wall() {
    return tests::scene_of({{1, 0, 0},
                            {1, 2, 0},
                            {1, 0, 2},
                            {1, 2, 2},
                            {1, 2, 0},
                            {1, 0, 2},
                            {0, 0, 0},
                            {0.5F, 2, 1},
                            {0, 1, 2},
                            {2, 0, 0},
                            {1.5F, 2, 1},
                            {2, 1, 2}});
}

TEST(Verify, PlanarTrianglesBelongToOneSideAtLeast) {
    const auto scene = wall();
    const auto found = [&](std::vector<std::uint32_t> left, std::vector<std::uint32_t> right) {
        Tree tree{{Node::inner(0, 1, 1), {}, {}}, left, {{0, 0, 0}, {2, 2, 2}}};
        tree.nodes[1] = Node::leaf(0, static_cast<std::uint32_t>(left.size()));
        tree.nodes[2] = Node::leaf(tree.nodes[1].count(), static_cast<std::uint32_t>(right.size()));
        tree.references.insert(tree.references.end(), right.begin(), right.end());
        return check(scene, tree);
    };
    EXPECT_EQ(found({0, 1, 2}, {3}), std::nullopt);
    EXPECT_EQ(found({2}, {0, 1, 3}), std::nullopt);
    EXPECT_EQ(found({0, 2}, {1, 3}), std::nullopt);
    EXPECT_EQ(found({0, 1, 2}, {0, 1, 3}), std::nullopt);
    EXPECT_TRUE(found({1, 2}, {3}));
    EXPECT_TRUE(found({0, 1}, {3}));
    EXPECT_TRUE(found({0, 1, 2}, {}));
}

TEST(Verify, PlanarTrianglesCutAgainNeedBothPieces) {
    // x = 1, then on the right x = 1 again: a flat cell, cut at y = 1.
    const auto scene = wall();
    const std::vector<Node> nodes{Node::inner(0, 1, 1), Node::leaf(0, 1), Node::inner(0, 1, 3),
                                  Node::inner(1, 1, 5), Node::leaf(5, 1), Node::leaf(1, 2),
                                  Node::leaf(3, 2)};
    const Tree tree = canonical(nodes, {2, 0, 1, 0, 1, 3}, {{0, 0, 0}, {2, 2, 2}});
    EXPECT_EQ(check(scene, tree), std::nullopt) << *check(scene, tree);
    for (const std::uint32_t piece : {0U, 1U}) {
        for (const std::size_t leaf : {5U, 6U}) {
            Parts bad(tree);
            std::erase(bad.leaves[leaf], piece);
            EXPECT_TRUE(check(scene, bad.tree())) << piece << " from " << leaf;
        }
    }
}

TEST(Verify, FindsLostTrianglesOfEveryKind) {
    Dice dice;
    for (const std::string& kind : tests::scene_kinds()) {
        const auto scene = tests::random_scene(kind, 50, dice());
        const Parts good(tests::oracle_tree(scene, deep()));
        for (std::uint32_t lost = 0; lost < 50; ++lost) {
            Parts bad = good;
            for (auto& leaf : bad.leaves) std::erase(leaf, lost);
            const auto found = check(scene, bad.tree());
            ASSERT_TRUE(found.has_value()) << kind;
            EXPECT_NE(found->find("triangle " + std::to_string(lost)), std::string::npos) << *found;
        }
    }
}

TEST(Verify, ReportsMalformedTrees) {
    const auto scene = tests::random_scene("soup", 100, 1);
    const Tree good = tests::oracle_tree(scene, BuildConfig{});
    ASSERT_EQ(check(scene, good), std::nullopt);
    ASSERT_FALSE(good.nodes[0].is_leaf());
    const auto leaf = static_cast<std::size_t>(
        std::ranges::find_if(good.nodes, [](Node n) { return n.is_leaf() && n.count() > 1; }) -
        good.nodes.begin());
    const std::uint32_t first = good.nodes[leaf].first();
    const auto reports = [&](const std::string& words, const std::function<void(Tree&)>& damage) {
        Tree bad = good;
        damage(bad);
        const auto found = check(scene, bad);
        ASSERT_TRUE(found.has_value()) << words;
        EXPECT_NE(found->find(words), std::string::npos) << *found;
    };
    reports("no root", [](Tree& t) { t.nodes.clear(); });
    reports("nodes", [](Tree& t) { t.nodes.pop_back(); });
    reports("nodes are reached", [](Tree& t) { t.nodes.push_back(Node::leaf(0, 0)); });
    reports("references up to number", [](Tree& t) { t.references.pop_back(); });
    reports("references are reached", [](Tree& t) { t.references.push_back(0); });
    reports("has children from", [](Tree& t) { t.nodes[0].tagged += 8; });
    reports("has references from", [&](Tree& t) { t.nodes[leaf].payload += 1; });
    reports("twice", [&](Tree& t) { t.references[first + 1] = t.references[first]; });
    reports("out of order",
            [&](Tree& t) { std::swap(t.references[first], t.references[first + 1]); });
    reports("of 100", [&](Tree& t) { t.references[first + 1] = 100; });
    reports("not the box", [](Tree& t) { t.bounds.hi.x += 1; });
    reports("outside its cell",
            [](Tree& t) { t.nodes[0] = Node::inner(t.nodes[0].axis(), 1e9F, t.nodes[0].child()); });
    reports("outside its cell",
            [](Tree& t) { t.nodes[0] = Node::inner(t.nodes[0].axis(), NAN, t.nodes[0].child()); });

    std::uint32_t depth = 0;
    walk(good, [&](std::uint32_t, const Box&, std::uint32_t d) { depth = std::max(depth, d); });
    EXPECT_EQ(verify(scene, good, depth), std::nullopt);
    EXPECT_TRUE(verify(scene, good, depth - 1));
}

TEST(Verify, ManyThreadsReportTheFirstViolation) {
    // Enough triangles for a thread on each of many cores; a tree of one plane, by boxes.
    const auto scene = tests::random_scene("soup", 50'000, 3);
    Parts good(Tree{{Node::inner(0, 0, 1), Node::leaf(0, 0), Node::leaf(0, 0)},
                    {},
                    {scene.bounds.lo, scene.bounds.hi}});
    std::vector<std::uint32_t> straddling;
    for (std::uint32_t t = 0; t < scene.triangles.size(); ++t) {
        const auto c = corners(scene, t);
        const auto [lo, hi] = std::minmax({c[0].x, c[1].x, c[2].x});
        if (lo < 0) good.leaves[1].push_back(t);
        if (hi > 0) good.leaves[2].push_back(t);
        if (lo < 0 && hi > 0) straddling.push_back(t);
    }
    ASSERT_EQ(check(scene, good.tree()), std::nullopt);
    ASSERT_GT(straddling.size(), 1000U);
    Dice dice;
    for (unsigned i = 0; i < 20; ++i) {
        Parts bad = good;
        // Three different ones: a triangle missing from both leaves is another violation.
        std::vector<std::uint32_t> missing;
        std::ranges::sample(straddling, std::back_inserter(missing), 3, dice);
        for (const std::uint32_t t : missing) std::erase(bad.leaves[1 + dice.below(2)], t);
        const std::uint32_t first = std::ranges::min(missing);
        const auto found = check(scene, bad.tree());
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->find("triangle " + std::to_string(first) + " is "), 0U) << *found;
    }
}

TEST(Verify, ReportsReferencesOutside) {
    const auto scene =
        tests::scene_of({{0, 0, 0}, {1, 1, 0}, {0, 1, 1}, {3, 0, 0}, {4, 1, 0}, {3, 1, 1}});
    const Tree tree{{Node::inner(0, 2, 1), Node::leaf(0, 2), Node::leaf(2, 1)},
                    {0, 1, 1},
                    {{0, 0, 0}, {4, 1, 1}}};
    const auto found = check(scene, tree);
    ASSERT_TRUE(found.has_value());
    EXPECT_NE(found->find("triangle 1, which is outside"), std::string::npos) << *found;
}

}  // namespace
}  // namespace heapwood::kdtree
