/// @file
/// What is found in a tree that is written down.
#include "app/inspect/inspection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "app/inspect/boxes.h"
#include "tests/app/render/sample_pictures.h"

namespace heapwood::app {
namespace {

using kdtree::Node;

/// A cell from 0 to 4, 1 and 1: a half with one triangle, a quarter with two, an empty quarter.
kdtree::Tree tree() {
    return {{Node::inner(0, 2, 1), Node::leaf(0, 1), Node::inner(0, 3, 3), Node::leaf(1, 2),
             Node::leaf(3, 0)},
            {7, 0, 7},
            {{0, 0, 0}, {4, 1, 1}}};
}

TEST(Inspection, CountsLevelsLeavesAndTriangles) {
    const Inspection found = inspect(tree(), 8, 10, 100, 10);
    ASSERT_EQ(found.levels.size(), 3U);
    EXPECT_EQ(found.levels[0].inner_nodes, 1U);
    EXPECT_EQ(found.levels[1].leaves, 1U);
    EXPECT_EQ(found.levels[1].references, 1U);
    EXPECT_EQ(found.levels[2].leaves, 1U);
    EXPECT_EQ(found.levels[2].empty_leaves, 1U);
    EXPECT_EQ(found.levels[2].references, 2U);
    ASSERT_EQ(found.leaf_sizes.size(), 3U);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(found.leaf_sizes[i].count, 1U);
    ASSERT_EQ(found.duplications.size(), 3U);
    EXPECT_EQ(found.duplications[0].count, 6U);
    EXPECT_EQ(found.duplications[1].count, 1U);
    EXPECT_EQ(found.duplications[2].count, 1U);
    ASSERT_EQ(found.spread_triangles.size(), 8U);
    EXPECT_EQ(found.spread_triangles[0].triangle, 7U);
    EXPECT_EQ(found.spread_triangles[0].leaves, 2U);
}

/// Half the surface of a box of edges a, 1, 1 is 2 a + 1: 9 of the root, 5 of a half, 3 of a
/// quarter.
TEST(Inspection, CostsAreThoseOfSurfaces) {
    const Inspection found = inspect(tree(), 8, 10, 100, 1);
    EXPECT_DOUBLE_EQ(found.levels[0].traversal_cost, 10);
    EXPECT_DOUBLE_EQ(found.levels[1].traversal_cost, 10 * 5 / 9.0);
    EXPECT_DOUBLE_EQ(found.levels[1].intersection_cost, 100 * 5 / 9.0);
    EXPECT_DOUBLE_EQ(found.levels[2].intersection_cost, 100 * 2 * 3 / 9.0);
    EXPECT_DOUBLE_EQ(found.cost, 10 * 14 / 9.0 + 100 * 11 / 9.0);
    ASSERT_EQ(found.costly_leaves.size(), 1U);
    EXPECT_EQ(found.costly_leaves[0].node, 3U);
    EXPECT_EQ(found.costly_leaves[0].depth, 2U);
    EXPECT_EQ(found.costly_leaves[0].cell.lo.x, 2);
    EXPECT_EQ(found.costly_leaves[0].cell.hi.x, 3);
    EXPECT_DOUBLE_EQ(found.leaf_sizes[2].cost, found.costly_leaves[0].cost);
}

TEST(Inspection, BucketsLeaveNoNumberOut) {
    kdtree::Tree one{{Node::leaf(0, 100)}, std::vector<std::uint32_t>(100), {{0, 0, 0}, {1, 1, 1}}};
    std::iota(one.references.begin(), one.references.end(), 0U);
    const Inspection found = inspect(one, 100, 1, 1, 1);
    ASSERT_EQ(found.leaf_sizes.size(), 10U);
    for (std::size_t i = 1; i < 10; ++i) {
        EXPECT_EQ(found.leaf_sizes[i].from, found.leaf_sizes[i - 1].to + 1);
    }
    EXPECT_EQ(found.leaf_sizes[5].to, 8U);
    EXPECT_EQ(found.leaf_sizes[9].from, 65U);
    EXPECT_EQ(found.leaf_sizes[9].to, 128U);
    EXPECT_EQ(found.leaf_sizes[9].count, 1U);
}

TEST(Inspection, SumsAreThoseOfTheWholeTree) {
    const Sample sample = built(scenes::load("gen:city:3000"));
    const Inspection found = inspect(sample.tree, 3000, 1, 1.5, 5);
    Level sum;
    for (const Level& level : found.levels) {
        sum.inner_nodes += level.inner_nodes;
        sum.leaves += level.leaves + level.empty_leaves;
        sum.references += level.references;
        sum.traversal_cost += level.traversal_cost + level.intersection_cost;
    }
    EXPECT_EQ(sum.inner_nodes + sum.leaves, sample.tree.nodes.size());
    EXPECT_EQ(sum.references, sample.tree.references.size());
    EXPECT_NEAR(sum.traversal_cost, found.cost, 1e-9 * found.cost);
    std::uint64_t triangles = 0;
    std::uint64_t references = 0;
    for (const Bucket& bucket : found.duplications) {
        triangles += bucket.count;
        references += bucket.references;
    }
    EXPECT_EQ(triangles, 3000U);
    EXPECT_EQ(references, sample.tree.references.size());
    for (std::size_t i = 1; i < found.costly_leaves.size(); ++i) {
        EXPECT_GE(found.costly_leaves[i - 1].cost, found.costly_leaves[i].cost);
    }
}

TEST(Boxes, AreTheCellsDownToADepth) {
    const std::string file = boxes_file(tree(), 1);
    const std::size_t header = file.find("end_header\n") + 11;
    EXPECT_NE(file.find("element vertex 24\n"), file.npos);
    EXPECT_NE(file.find("element face 18\n"), file.npos);
    ASSERT_EQ(file.size() - header, 24 * 12U + 18 * 22U);
    float x = 0;
    std::memcpy(&x, file.data() + header + (8 + 1) * 12, 4);
    EXPECT_EQ(x, 2) << "the low child's high corner";
    std::int32_t references = 0;
    const std::size_t faces = header + 24 * 12;
    std::memcpy(&references, file.data() + faces + 18, 4);
    EXPECT_EQ(references, -1);
    std::memcpy(&references, file.data() + faces + 6 * 22 + 18, 4);
    EXPECT_EQ(references, 1);
    EXPECT_EQ(file[faces + 6 * 22 + 17], 1) << "its depth";
}

}  // namespace
}  // namespace heapwood::app
