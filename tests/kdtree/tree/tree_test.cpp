/// @file
/// The canonical form and the digest: invariance under renumbering, rejection of malformed trees.
#include "kdtree/tree/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "kdtree/tree/canonical.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/tree/random_trees.h"

namespace heapwood::kdtree {
namespace {

using tests::equal;
using tests::kUnit;
using tests::Nodes;
using tests::Numbers;
using tests::random_tree;
using tests::scrambled;
using tests::seven_nodes;

TEST(Canonical, KeepsACanonicalTree) {
    const Tree tree = seven_nodes();
    EXPECT_TRUE(equal(canonical(tree.nodes, tree.references, tree.bounds), tree));
}

TEST(Canonical, SingleLeaf) {
    const Tree tree = canonical({Node::leaf(1, 2)}, {9, 7, 3}, kUnit);
    EXPECT_TRUE(equal(tree, {{Node::leaf(0, 2)}, {3, 7}, kUnit}));
    EXPECT_EQ(tree.bounds.hi.x, 1.0F);
}

TEST(Canonical, ForgetsHowTheNodesWereNumbered) {
    tests::Dice dice;
    for (unsigned i = 0; i < 200; ++i) {
        const Tree tree = i == 0 ? seven_nodes() : random_tree(dice.below(60), dice);
        const Tree moved = scrambled(tree, dice);
        const unsigned threads = 1 + dice.below(4);
        const Tree again = canonical(moved.nodes, moved.references, moved.bounds, threads);
        ASSERT_TRUE(equal(again, tree));
        ASSERT_EQ(digest(again), digest(tree));
    }
}

/// More nodes than the threads have subtrees: each has many of them below the levels that one
/// walks.
TEST(Canonical, IsTheSameFromAnyNumberOfThreads) {
    tests::Dice dice;
    const Tree tree = random_tree(60'000, dice);
    const Tree moved = scrambled(tree, dice);
    ASSERT_TRUE(equal(canonical(moved.nodes, moved.references, moved.bounds), tree));
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
        ASSERT_TRUE(equal(canonical(moved.nodes, moved.references, moved.bounds, threads), tree))
            << threads;
    }
}

TEST(Canonical, TakesADeepTreeWithoutRecursion) {
    constexpr std::uint32_t kDepth = 1'000'000;
    Nodes nodes(2 * kDepth + 1, Node::leaf(0, 0));
    for (std::uint32_t i = 0; i < kDepth; ++i) {
        // A chain that leaves by the left child on even levels, and by the right on odd ones.
        const std::uint32_t at = i == 0 ? 0 : 2 * i - 1 + (i - 1) % 2;
        nodes[at] = Node::inner(i % 3, 0.5F, 2 * i + 1);
    }
    for (const unsigned threads : {1U, 2U}) {
        EXPECT_EQ(canonical(nodes, {}, kUnit, threads).nodes.size(), nodes.size());
    }
}

TEST(Canonical, RejectsWhatIsNoTree) {
    const Tree good = seven_nodes();
    const auto with = [&](std::size_t i, Node node) {
        Nodes nodes = good.nodes;
        nodes[i] = node;
        return nodes;
    };
    const auto make = [&](const Nodes& nodes) { return canonical(nodes, good.references, kUnit); };
    EXPECT_THROW(make({}), std::runtime_error);
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, 7))), std::runtime_error) << "no such child";
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, 6))), std::runtime_error) << "half a pair";
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, Node::kLimit - 1))), std::runtime_error);
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, 3))), std::runtime_error) << "shared pair";
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, 4))), std::runtime_error) << "shared child";
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, 0))), std::runtime_error) << "the root";
    EXPECT_THROW(make(with(2, Node::inner(2, 0.75F, 1))), std::runtime_error) << "a cycle";
    EXPECT_THROW(make(with(6, Node::leaf(4, 3))), std::runtime_error) << "leaf beyond the end";
    EXPECT_THROW(make(with(6, Node::leaf(0xFFFFFFFF, 3))), std::runtime_error) << "overflow";
    EXPECT_THROW(make(with(5, Node::leaf(0, 6))), std::runtime_error) << "overlapping leaves";
}

/// What threads find below the levels that one walks must be seen, too.
TEST(Canonical, RejectsWhatIsNoTreeOnManyThreads) {
    tests::Dice dice;
    const Tree good = random_tree(20'000, dice);
    for (unsigned i = 0; i < 30; ++i) {
        const auto some = static_cast<std::ptrdiff_t>(dice.below(good.nodes.size() - 1));
        Nodes nodes = good.nodes;
        const auto leaf = std::find_if(nodes.begin() + some, nodes.end(),
                                       [](Node node) { return node.is_leaf(); });
        for (const unsigned threads : {1U, 2U, 8U}) {
            const auto make = [&] { return canonical(nodes, good.references, kUnit, threads); };
            // Each node but the root has a parent: another one is too many.
            *leaf = Node::inner(0, 0, 1 + dice.below(nodes.size() - 2));
            EXPECT_THROW(make(), std::runtime_error) << threads << " threads";
            *leaf = Node::leaf(static_cast<std::uint32_t>(good.references.size()), 1);
            EXPECT_THROW(make(), std::runtime_error) << threads << " threads";
        }
    }
}

TEST(Digest, IsFnv1aOfTheWords) {
    // FNV-1a with 32-bit words: number of nodes 1, payload 0, tagged 4 << 2 | 3, references.
    const Tree tree{{Node::leaf(0, 4)}, {1, 2, 3, 4}, kUnit};
    std::uint64_t expected = 14695981039346656037U;
    for (const std::uint64_t word : {1U, 0U, 19U, 1U, 2U, 3U, 4U}) {
        expected = (expected ^ word) * 1099511628211U;
    }
    EXPECT_EQ(digest(tree), expected);
}

TEST(Digest, SeesEveryChange) {
    const Tree good = seven_nodes();
    for (std::size_t i = 0; i < good.nodes.size(); ++i) {
        Tree bad = good;
        bad.nodes[i].payload ^= 1;
        EXPECT_NE(digest(bad), digest(good));
        bad = good;
        bad.nodes[i].tagged ^= 4;
        EXPECT_NE(digest(bad), digest(good));
    }
    for (std::size_t i = 0; i < good.references.size(); ++i) {
        Tree bad = good;
        bad.references[i] ^= 1U << 31;
        EXPECT_NE(digest(bad), digest(good));
    }
}

}  // namespace
}  // namespace heapwood::kdtree
