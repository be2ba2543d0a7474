/// @file
/// Measures of trees small enough to compute by hand, and of extreme ones.
#include "kdtree/tree/quality.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace heapwood::kdtree {
namespace {

/// Cell 4 x 2 x 2 (area 40), cut at x = 1 into areas 16 and 32, the right one at y = 0.5 into
/// 3 x 0.5 x 2 (area 17) and 3 x 1.5 x 2 (area 27).
Tree five_nodes(float scale) {
    return {{Node::inner(0, scale, 1), Node::leaf(0, 2), Node::inner(1, 0.5F * scale, 3),
             Node::leaf(2, 0), Node::leaf(2, 3)},
            {0, 1, 0, 1, 2},
            Box{{0, 0, 0}, glm::vec3{4, 2, 2} * scale}};
}

TEST(Quality, ByHand) {
    const Quality q = quality(five_nodes(1), 3);
    EXPECT_EQ(q.nodes, 5U);
    EXPECT_EQ(q.leaves, 3U);
    EXPECT_EQ(q.empty_leaves, 1U);
    EXPECT_EQ(q.references, 5U);
    EXPECT_DOUBLE_EQ(q.references_per_triangle, 5.0 / 3.0);
    EXPECT_EQ(q.max_depth, 2U);
    EXPECT_EQ(q.largest_leaf, 3U);
    EXPECT_DOUBLE_EQ(q.I, (40.0 + 32.0) / 40.0);
    EXPECT_DOUBLE_EQ(q.L, (16.0 + 17.0 + 27.0) / 40.0);
    EXPECT_DOUBLE_EQ(q.P, (2 * 16.0 + 3 * 27.0) / 40.0);
    EXPECT_DOUBLE_EQ(q.sah(1, 1.5), 1.8 + 1.5 * 113.0 / 40.0);
    EXPECT_DOUBLE_EQ(q.sah(15, 20), 15 * 1.8 + 20 * 113.0 / 40.0);
}

TEST(Quality, DoesNotDependOnTheScale) {
    const Quality one = quality(five_nodes(1), 3);
    for (const float scale : {0x1p-120F, 0x1p-20F, 0x1p100F, 0x1p125F}) {
        const Quality q = quality(five_nodes(scale), 3);
        EXPECT_EQ(q.I, one.I) << scale;
        EXPECT_EQ(q.L, one.L) << scale;
        EXPECT_EQ(q.P, one.P) << scale;
    }
}

TEST(Quality, SingleLeaf) {
    const Quality q =
        quality({{Node::leaf(0, 7)}, {0, 1, 2, 3, 4, 5, 6}, {{0, 0, 0}, {1, 1, 1}}}, 7);
    EXPECT_EQ(q.max_depth, 0U);
    EXPECT_EQ(q.I, 0.0);
    EXPECT_EQ(q.L, 1.0);
    EXPECT_EQ(q.P, 7.0);
    EXPECT_EQ(q.references_per_triangle, 1.0);
}

TEST(Quality, WholeRangeOfFloats) {
    constexpr float kMost = std::numeric_limits<float>::max();
    const Tree tree{{Node::inner(2, 0, 1), Node::leaf(0, 1), Node::leaf(1, 1)},
                    {0, 1},
                    {{-kMost, -kMost, -kMost}, {kMost, kMost, kMost}}};
    EXPECT_DOUBLE_EQ(quality(tree, 2).P, 2 * 2.0 / 3.0);
    constexpr float kLeast = std::numeric_limits<float>::denorm_min();
    const Tree small{{Node::inner(2, kLeast, 1), Node::leaf(0, 1), Node::leaf(1, 1)},
                     {0, 1},
                     {{0, 0, 0}, {2 * kLeast, 2 * kLeast, 2 * kLeast}}};
    EXPECT_DOUBLE_EQ(quality(small, 2).P, 2 * 2.0 / 3.0);
}

TEST(Quality, CellsWithoutArea) {
    // A flat root has the area of its two sides, and a cut halves it.
    const Tree flat{{Node::inner(0, 1, 1), Node::leaf(0, 1), Node::leaf(1, 2)},
                    {0, 0, 1},
                    {{0, 3, 0}, {4, 3, 4}}};
    EXPECT_DOUBLE_EQ(quality(flat, 2).P, 0.25 + 2 * 0.75);
    // On a line, lengths count.
    Tree line = flat;
    line.bounds = {{0, 3, 5}, {4, 3, 5}};
    EXPECT_DOUBLE_EQ(quality(line, 2).I, 1.0);
    EXPECT_DOUBLE_EQ(quality(line, 2).L, 1.0);
    EXPECT_DOUBLE_EQ(quality(line, 2).P, 0.25 + 2 * 0.75);
    // In a point, everything is met.
    Tree point = flat;
    point.bounds = {{1, 3, 5}, {1, 3, 5}};
    EXPECT_EQ(quality(point, 2).I, 1.0);
    EXPECT_EQ(quality(point, 2).L, 2.0);
    EXPECT_EQ(quality(point, 2).P, 3.0);
    // A flat cell at a face of the root: area of its two sides only.
    const Tree face{
        {Node::inner(1, 0, 1), Node::leaf(0, 1), Node::leaf(1, 0)}, {0}, {{0, 0, 0}, {1, 1, 1}}};
    EXPECT_DOUBLE_EQ(quality(face, 1).P, 2.0 / 6.0);
    EXPECT_DOUBLE_EQ(quality(face, 1).L, 8.0 / 6.0);
}

TEST(Quality, RefusesWhatIsNotCanonical) {
    const Tree good = five_nodes(1);
    const auto refused = [](const Tree& tree) {
        EXPECT_THROW(quality(tree, 3), std::runtime_error);
    };
    refused({});
    Tree bad = good;
    bad.nodes[0] = Node::inner(0, 1, 3);
    refused(bad);
    bad = good;
    bad.nodes[2] = Node::inner(0, 1, 1);
    refused(bad);
    bad = good;
    bad.nodes[3] = Node::leaf(1, 0);
    refused(bad);
    bad = good;
    bad.nodes[4] = Node::leaf(2, 4);
    refused(bad);
    bad = good;
    bad.nodes[4] = Node::leaf(2, 2);
    refused(bad);
    bad = good;
    bad.nodes.pop_back();
    refused(bad);
    bad = good;
    bad.nodes.push_back(Node::leaf(5, 0));
    refused(bad);
}

}  // namespace
}  // namespace heapwood::kdtree
