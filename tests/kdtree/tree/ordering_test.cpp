/// @file
/// The passes of canonical_steps.cuh by threads of the host, which take a level's pairs in any
/// order.
#include "tests/kdtree/tree/ordering_tests.h"

#include "allocators/memory/array_pool.h"
#include "allocators/platform/for_chunks.h"
#include "kdtree/tree/canonical_order.h"

namespace heapwood::kdtree::tests {
namespace {

/// Takes the pairs of a level in any order.
struct Threads {
    template <class Step>
    void for_each(std::uint32_t n, const Step& step) const {
        platform::for_chunks(n, 16, 3, [&](std::uint64_t first, std::uint64_t end) {
            for (auto i = end; i-- > first;) step(static_cast<std::uint32_t>(i));
        });
    }
};

struct ThreadsOfTheHost {
    static bool available() { return true; }
    static std::optional<Tree> ordered(const Tree& tree, float scale) {
        return ordered(tree, scale, {});
    }
    /// The tree with the numbers that it has where it is a part of a larger one.
    static std::optional<Tree> ordered(const Tree& tree, float scale,
                                       const detail::TreePlace& place) {
        Threads threads;
        allocators::ArrayPool pool(allocators::Place::host);
        detail::CanonicalOrder order(threads, pool,
                                     {tree.nodes.data(), tree.nodes.size(), tree.references.data(),
                                      tree.references.size(), tree.bounds, scale});
        if (!order.measure()) return {};
        Tree result{std::vector<Node>(order.nodes()),
                    std::vector<std::uint32_t>(order.references()), tree.bounds};
        if (order.put(result.nodes.data(), result.references.data(), place)) {
            detail::sort_long_leaves(result.nodes.data(), result.nodes.size(),
                                     result.references.data(), place.references);
        }
        return result;
    }
};

/// Numbers of nodes and references count from a tree's place in a larger one.
TEST(Ordering, OfAPartOfALargerTree) {
    Dice dice;
    for (unsigned i = 0; i < 30; ++i) {
        Tree tree = scrambled(random_tree(dice.below(300), dice), dice);
        const detail::TreePlace place{.pairs = dice.below(1U << 29),
                                      .references = dice.below(1U << 31)};
        const auto moved = ThreadsOfTheHost::ordered(tree, 1, place);
        Tree wanted = canonical(tree.nodes, tree.references, tree.bounds, 1);
        ASSERT_TRUE(moved.has_value());
        for (Node& node : wanted.nodes) {
            node = node.is_leaf()
                       ? Node::leaf(node.first() + place.references, node.count())
                       : Node{node.payload, (node.child() + 2 * place.pairs) << 2 | node.axis()};
        }
        EXPECT_TRUE(equal(*moved, wanted));
    }
}

using Machines = ::testing::Types<ThreadsOfTheHost>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, OrderingTest, Machines);

}  // namespace
}  // namespace heapwood::kdtree::tests
