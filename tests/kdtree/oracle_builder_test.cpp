/// @file
/// The oracles for the builder: trees by hand, and wrong choices, which are found.
#include "tests/kdtree/oracle_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/kdtree/choice_checker.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

/// The default, but all planes in every node, as the oracle does it.
BuildConfig exact() {
    BuildConfig config;
    config.exact_limit = ~0U;
    return config;
}

TEST(OracleBuilder, CutsOffEmptySpaceByHand) {
    // Five copies of a small triangle in a corner of a cell that one far away makes large.
    std::vector<glm::vec3> corners;
    for (int i = 0; i < 5; ++i) corners.insert(corners.end(), {{0, 0, 0}, {1, 0, 0}, {0, 1, 1}});
    corners.insert(corners.end(), {{9, 9, 9}, {10, 9, 9}, {9, 10, 10}});
    const Tree tree = oracle_tree(scene_of(corners), exact());
    // A leaf costs 1.5 * 6 = 9. The cut at the cluster's end leaves slabs of area 240 and 560 of
    // 600: 1 + 1.5 * (5 * 240 + 1 * 560) / 600 = 5.4. The cut before the other triangle costs 8.6.
    // All axes are alike, so the first wins.
    ASSERT_FALSE(tree.nodes[0].is_leaf());
    EXPECT_EQ(tree.nodes[0].axis(), 0U);
    EXPECT_EQ(tree.nodes[0].split(), 1.0F);
    EXPECT_EQ(tree.references.size(), 6U);
}

TEST(OracleBuilder, FlatCellForAWallByHand) {
    // Six triangles in the face z = 0 of a cube of area 96, one at the opposite face. The flat cell
    // has area 32: 1 + 1.5 * (6 * 32 + 1 * 96) / 96 = 5.5; a leaf costs 10.5.
    std::vector<glm::vec3> corners;
    for (int i = 0; i < 6; ++i) corners.insert(corners.end(), {{0, 0, 0}, {4, 0, 0}, {0, 4, 0}});
    corners.insert(corners.end(), {{0, 0, 4}, {4, 0, 4}, {0, 4, 4}});
    const Tree tree = oracle_tree(scene_of(corners), exact());
    ASSERT_FALSE(tree.nodes[0].is_leaf());
    EXPECT_EQ(tree.nodes[0].axis(), 2U);
    EXPECT_EQ(tree.nodes[0].split(), 0.0F);
    EXPECT_TRUE(tree.nodes[1].is_leaf());
    EXPECT_EQ(tree.nodes[1].count(), 6U);
}

TEST(OracleBuilder, IsItsOwnProof) {
    Dice dice;
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : {1U, 5U, 64U, 200U}) {
            const auto scene = random_scene(kind, count, dice());
            const Tree tree = oracle_tree(scene, exact());
            const auto wrong = wrong_choice(scene, tree, exact());
            EXPECT_EQ(wrong, std::nullopt) << scene.path << ": " << *wrong;
        }
    }
}

/// Changes a rule and has the trees of many scenes checked by the wrong one of both rules.
template <class Change>
void expect_rule_noticed(Dice& dice, const std::string& rule, const Change& change) {
    unsigned different = 0;
    unsigned noticed = 0;
    // In general position: where costs are equal, which split is best is a matter of rounding.
    for (const std::string kind : {"soup", "slivers", "far"}) {
        for (int i = 0; i < 10; ++i) {
            const auto scene = random_scene(kind, 60, dice());
            BuildConfig other = exact();
            change(other);
            const Tree tree = oracle_tree(scene, exact());
            const Tree changed = oracle_tree(scene, other);
            if (digest(changed) == digest(tree)) continue;
            different += 2;
            noticed += wrong_choice(scene, changed, exact()).has_value();
            noticed += wrong_choice(scene, tree, other).has_value();
        }
    }
    EXPECT_GT(different, 0U) << rule;
    // Now and then, all that a rule changes is within the tolerance for costs.
    EXPECT_GE(noticed * 10, different * 9) << rule << ": " << noticed << " of " << different;
}

TEST(OracleBuilder, OtherRulesAreNoticed) {
    Dice dice;
    const auto noticed = [&](const std::string& rule, auto change) {
        expect_rule_noticed(dice, rule, change);
    };
    noticed("leaf_limit 4", [](BuildConfig& c) { c.leaf_limit = 4; });
    noticed("leaf_limit 1", [](BuildConfig& c) { c.leaf_limit = 1; });
    noticed("leaf_area 0", [](BuildConfig& c) { c.leaf_area = 0; });
    noticed("leaf_area 1", [](BuildConfig& c) { c.leaf_area = 1; });
    noticed("leaf_area 40", [](BuildConfig& c) { c.leaf_area = 40; });
    noticed("depth_base -3", [](BuildConfig& c) { c.depth_base = -3; });
    noticed("traversal_cost 3", [](BuildConfig& c) { c.traversal_cost = 3; });
    noticed("traversal_cost 0.2", [](BuildConfig& c) { c.traversal_cost = 0.2F; });
    noticed("empty_bonus 0.3", [](BuildConfig& c) { c.empty_bonus = 0.3F; });
    noticed("empty_rule whole", [](BuildConfig& c) { c.empty_rule = EmptyRule::whole; });
    noticed("empty_rule tests", [](BuildConfig& c) { c.empty_rule = EmptyRule::tests; });
    noticed("bad_split_ratio 0.8", [](BuildConfig& c) { c.bad_split_ratio = 0.8F; });
    noticed("bad_splits 1", [](BuildConfig& c) { c.bad_splits = 1; });
    noticed("bad_splits_per_level 0.1", [](BuildConfig& c) { c.bad_splits_per_level = 0.1F; });
    noticed("hopeless_ratio 1.1", [](BuildConfig& c) {
        c.bad_splits = 3;
        c.hopeless_ratio = 1.1F;
    });
}

TEST(OracleBuilder, MovedPlanesAndReferencesAreNoticed) {
    Dice dice;
    for (unsigned i = 0; i < 200; ++i) {
        const auto scene = random_scene("soup", 60, dice());
        Tree tree = oracle_tree(scene, exact());
        if (tree.nodes.size() < 3) continue;
        const unsigned at = dice.below(tree.nodes.size());
        Node& node = tree.nodes[at];
        if (node.is_leaf()) {
            if (node.count() == 0) continue;
            tree.references[node.first() + dice.below(node.count())] ^= 1;
        } else {
            node.payload += 4;
        }
        EXPECT_TRUE(wrong_choice(scene, tree, exact())) << scene.path << " node " << at;
    }
}

TEST(OracleBuilder, PlanesThatAreNoCandidatesAreNoticed) {
    Dice dice;
    const auto scene = random_scene("soup", 60, dice());
    const Tree tree = oracle_tree(scene, exact());
    ASSERT_EQ(wrong_choice(scene, tree, exact()), std::nullopt);
    // The next float keeps every reference where it was, but is no candidate.
    const Node root = tree.nodes[0];
    Tree moved = tree;
    moved.nodes[0] = Node::inner(root.axis(), std::nextafter(root.split(), 10.0F), root.child());
    const auto exactly = wrong_choice(scene, moved, exact());
    ASSERT_TRUE(exactly);
    EXPECT_NE(exactly->find("node 0"), std::string::npos) << *exactly;
    // Neither is an end of a reference in a node that has bins, unless it may snap.
    BuildConfig binned;
    binned.exact_limit = 40;
    binned.snap_limit = 0;
    const auto wrong = wrong_choice(scene, tree, binned);
    ASSERT_TRUE(wrong);
    EXPECT_NE(wrong->find("node 0"), std::string::npos) << *wrong;
}

}  // namespace
}  // namespace heapwood::kdtree::tests
