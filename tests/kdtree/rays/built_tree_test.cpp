/// @file
/// Built trees on a CPU.
#include <filesystem>

#include "kdtree/rays/ray_in_place.cuh"
#include "kdtree/tree/tree_file.h"
#include "tests/kdtree/rays/built_trees.h"

namespace heapwood::kdtree::tests {
namespace {

TEST(BuiltTree, HasTheHitsOfTheHostsLayout) {
    test_scenes_and_frames<OnCpu>(Place::host);
}

TEST(BuiltTree, ThatFailedIsMetByNoRay) {
    test_failures<OnCpu>(Place::host);
}

TEST(BuiltTree, IsLaidOutByAnyNumberOfThreads) {
    Dice dice;
    const scenes::Scene scene = random_scene("soup", 200, dice());
    Builder<allocators::Cambium, CpuMachine> builder(CpuMachine(2), 200, {}, {});
    ASSERT_TRUE(builder.rebuild(scene));
    const TreeInPlace made = builder.tree_in_place();
    // The root is the same in the layout of the host, but for where its children are.
    const RayTree canonical(builder.tree(), scene);
    const RayNode root = canonical.view().node(kRootPlace);
    ASSERT_FALSE(root.is_leaf());
    for (const std::uint64_t threads : {1U, 2U, 5U}) {
        std::vector<RayNode> nodes(made.node_end);
        std::vector<CornerRow> rows(3 * made.reference_end);
        LeafCounts counts{};
        for (std::uint64_t i = 0; i < threads; ++i) {
            lay_out_for_rays(made, {nodes.data(), rows.data(), &counts}, i, threads);
        }
        EXPECT_TRUE(nodes[0].is_end()) << threads << " threads";
        EXPECT_EQ(nodes[1].payload, root.payload) << threads << " threads";
        EXPECT_EQ(nodes[1].tagged & 15U, root.tagged & 15U) << threads << " threads";
        EXPECT_EQ(counts.all, made.reference_end);
    }
}

TEST(BuiltTree, HasNothingWhereRoomWasMade) {
    Dice dice;
    const scenes::Scene scene = random_scene("soup", 200, dice());
    Builder<allocators::Cambium, CpuMachine> builder(CpuMachine(2), 200, {}, {});
    ASSERT_TRUE(builder.rebuild(scene));
    RayTree rays(Place::host);
    rays.reserve(builder.tree_in_flight());
    expect_nothing(rays, scene, dice);
    rays.lay_out(builder.tree_in_place());
    expect_hits_of(rays, builder.tree(), scene, dice);
}

TEST(BuiltTree, IsSavedWithItsScene) {
    const scenes::Scene scene = random_scene("soup", 50, 1);
    const auto tree = build<OnCpu>(scene);
    const std::string path = ::testing::TempDir() + "built_tree_test.kdt";
    tree.save(path, scene);
    EXPECT_EQ(digest(load_tree(path).tree), digest(tree.to_host()));
    std::filesystem::remove(path);
}

TEST(BuiltTree, IsMadeAnewForLargerScenes) {
    Dice dice;
    auto tree = build<OnCpu>(random_scene("soup", 10, dice()));
    const std::uint64_t before = tree.result().pool_bytes;
    const scenes::Scene large = random_scene("soup", 40000, dice());
    tree.rebuild(large);
    EXPECT_GT(tree.result().pool_bytes, before);
    EXPECT_GE(tree.result().pool_bytes, 30 * root_array_bytes(large.triangles.size()));
}

}  // namespace
}  // namespace heapwood::kdtree::tests
