/// @file
/// The canonical form by many threads is that of canonical(), on any machine.
///
/// A machine has `available()` and `ordered(tree, scale)`, which gives nothing for what is no tree.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "kdtree/tree/canonical.h"
#include "kdtree/tree/canonical_steps.cuh"
#include "tests/kdtree/tree/random_trees.h"

namespace heapwood::kdtree::tests {

template <class Machine>
class OrderingTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << "no GPU";
    }
    /// What canonical() makes of a tree, or nothing.
    static std::optional<Tree> expected(const Tree& tree, float scale) {
        try {
            Tree result = canonical(tree.nodes, tree.references, tree.bounds, 1);
            denormalise(result.nodes, scale);
            return result;
        } catch (const std::runtime_error&) {
            return {};
        }
    }
    static void expect_ordered(const Tree& tree, float scale) {
        const auto wanted = expected(tree, scale);
        const auto ordered = Machine::ordered(tree, scale);
        ASSERT_EQ(ordered.has_value(), wanted.has_value());
        if (!ordered) return;
        ASSERT_TRUE(equal(*ordered, *wanted));
        ASSERT_EQ(ordered->bounds.lo, tree.bounds.lo);
        ASSERT_EQ(ordered->bounds.hi, tree.bounds.hi);
    }
    Dice dice_;
};
TYPED_TEST_SUITE_P(OrderingTest);

TYPED_TEST_P(OrderingTest, TreesOfAllShapes) {
    TestFixture::expect_ordered({{Node::leaf(1, 2)}, {9, 7, 3}, kUnit}, 1);
    TestFixture::expect_ordered({{Node::leaf(0, 0)}, {}, kUnit}, 1);
    for (const unsigned most : {4U, 60U, 3000U}) {
        for (unsigned i = 0; i < 30; ++i) {
            const Tree tree = random_tree(this->dice_.below(most), this->dice_);
            const float scale = std::ldexp(1.0F, static_cast<int>(this->dice_.below(40)) - 20);
            ASSERT_NO_FATAL_FAILURE(
                TestFixture::expect_ordered(scrambled(tree, this->dice_), scale));
        }
    }
}

/// A chain of inner nodes: as deep as a tree may be, and deeper.
TYPED_TEST_P(OrderingTest, TheDeepestTree) {
    for (const std::uint32_t depth : {kMaxDepth, kMaxDepth + 1}) {
        Tree tree{{}, {}, kUnit};
        tree.nodes.push_back(Node::inner(0, 0, 1));
        for (std::uint32_t i = 1; i < depth; ++i) {
            tree.nodes.push_back(Node::leaf(0, 0));
            tree.nodes.push_back(Node::inner(i % 3, static_cast<float>(i), 2 * i + 1));
        }
        tree.nodes.insert(tree.nodes.end(), 2, Node::leaf(0, 0));
        EXPECT_EQ(TestFixture::expected(tree, 1).has_value(), true);
        EXPECT_EQ(TypeParam::ordered(tree, 1).has_value(), depth == kMaxDepth);
    }
}

TYPED_TEST_P(OrderingTest, LeavesOfManyReferences) {
    constexpr std::uint32_t kMost = detail::CanonicalWork::kMostSorted;
    for (const std::uint32_t count : {kMost - 1, kMost, kMost + 1, 5 * kMost}) {
        Tree tree{{Node::inner(1, 2, 1), Node::leaf(0, count), Node::leaf(count, 3)}, {}, kUnit};
        tree.references.resize(count + 3);
        for (std::uint32_t& number : tree.references) number = this->dice_.below(1U << 20);
        ASSERT_NO_FATAL_FAILURE(TestFixture::expect_ordered(tree, 1));
    }
}

TYPED_TEST_P(OrderingTest, RefusesWhatIsNoTree) {
    const Tree good = random_tree(500, this->dice_);
    for (unsigned i = 0; i < 60; ++i) {
        Tree tree = good;
        const auto some = static_cast<std::ptrdiff_t>(this->dice_.below(tree.nodes.size()));
        const auto n = static_cast<std::uint32_t>(tree.nodes.size());
        const auto last = static_cast<std::uint32_t>(tree.references.size());
        Node& leaf = *std::find_if(tree.nodes.begin() + some, tree.nodes.end(),
                                   [](Node node) { return node.is_leaf(); });
        const Node wrong[] = {Node::inner(0, 0, this->dice_.below(n)),
                              Node::inner(0, 0, n),
                              Node::inner(0, 0, Node::kLimit - 1),
                              Node::leaf(last, 1),
                              Node::leaf(0xFFFFFFFF, 3),
                              Node::leaf(0, last)};
        leaf = wrong[i % std::size(wrong)];
        ASSERT_NO_FATAL_FAILURE(TestFixture::expect_ordered(tree, 1));
    }
}

REGISTER_TYPED_TEST_SUITE_P(OrderingTest, TreesOfAllShapes, TheDeepestTree, LeavesOfManyReferences,
                            RefusesWhatIsNoTree);

}  // namespace heapwood::kdtree::tests
