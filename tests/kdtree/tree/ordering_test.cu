/// @file
/// The canonical form of trees on a GPU.
#include <cuda_runtime.h>

#include "allocators/memory/buffer.h"
#include "kdtree/tree/canonical_gpu.h"
#include "tests/kdtree/tree/ordering_tests.h"

namespace heapwood::kdtree::tests {
namespace {

using allocators::Buffer;
using allocators::Place;

struct KernelsOfAGpu {
    static bool available() {
        int devices = 0;
        return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    }
    static std::optional<Tree> ordered(const Tree& tree, float scale) {
        Buffer nodes(Place::device, tree.nodes.size() * sizeof(Node));
        nodes.write(0, tree.nodes.data(), nodes.size());
        Buffer references(Place::device, tree.references.size() * sizeof(std::uint32_t));
        references.write(0, tree.references.data(), references.size());
        return detail::canonical_on_gpu({nodes.as<Node>(), tree.nodes.size(),
                                         references.as<std::uint32_t>(), tree.references.size(),
                                         tree.bounds, scale});
    }
};

using Machines = ::testing::Types<KernelsOfAGpu>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, OrderingTest, Machines);

TEST(Ordering, OfFourHundredThousandNodes) {
    if (!KernelsOfAGpu::available()) GTEST_SKIP() << "no GPU";
    Dice dice;
    const Tree tree = random_tree(200'000, dice);
    const auto ordered = KernelsOfAGpu::ordered(scrambled(tree, dice), 1);
    ASSERT_TRUE(ordered.has_value());
    EXPECT_TRUE(equal(*ordered, tree));
}

}  // namespace
}  // namespace heapwood::kdtree::tests
