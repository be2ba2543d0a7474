/// @file
/// Rays through trees on a CPU; and what no tree may be.
#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

#include "tests/kdtree/rays/traversal_tests.h"

namespace heapwood::kdtree::tests {

using Machines = ::testing::Types<HostThread, HostBatch, HostArrays, HostCoherentBatch>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, TraversalTest, Machines);

static_assert(std::is_constructible_v<OrderedHits<>, const RayTreeView&, const Ray&> &&
                  !std::is_constructible_v<OrderedHits<>, const RayTreeView&, Ray>,
              "a ray without a name would end before its hits are asked for");

TEST(Traversal, FastTestIsAlmostAlwaysRight) {
    Dice dice;
    const auto scene = random_scene("soup", 300, dice());
    const RayTree tree(oracle_tree(scene, BuildConfig{}), scene);
    std::vector<Ray> rays;
    for (unsigned i = 0; i < 20000; ++i) {
        const glm::vec3 from = dice.point(-1, 2);
        rays.push_back({from, dice.point(0, 1) - from, 0, kInfinity});
    }
    std::vector<Hit> exact(rays.size());
    std::vector<Hit> fast(rays.size());
    closest_hits(tree, rays.data(), rays.size(), exact.data());
    closest_hits(tree, rays.data(), rays.size(), fast.data(), {.fast = true});
    unsigned different = 0;
    unsigned found = 0;
    for (std::size_t i = 0; i < rays.size(); ++i) {
        different += exact[i].triangle != fast[i].triangle;
        found += exact[i].found();
    }
    EXPECT_GT(found, rays.size() / 10);
    EXPECT_LT(different, rays.size() / 1000);
}

TEST(RayTree, RefusesWhatIsNoTreeOfTheScene) {
    const auto scene = scene_of({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}});
    const auto refused = [&](std::vector<Node> nodes, std::vector<std::uint32_t> references) {
        EXPECT_THROW(RayTree({std::move(nodes), std::move(references), {}}, scene),
                     std::runtime_error);
    };
    refused({Node::leaf(0, 2)}, {0});                       // too few references
    refused({Node::leaf(0, 1)}, {1});                       // no such triangle
    refused({Node::inner(0, 0, 1), Node::leaf(0, 0)}, {});  // no second child
    refused({Node::inner(0, 0, 0), Node::leaf(0, 0)}, {});  // its own child
    refused({Node::inner(0, 0, 2), {}, Node::leaf(0, 0), Node::leaf(0, 0)}, {});
    DeepTree deep;
    deep.tree.nodes[2 * kMaxDepth - 1] = Node::inner(0, 0, 2 * kMaxDepth + 1);
    deep.tree.nodes.insert(deep.tree.nodes.end(), 2, Node::leaf(0, 0));
    EXPECT_THROW(RayTree(deep.tree, deep.scene), std::runtime_error) << "too deep";
}

}  // namespace heapwood::kdtree::tests
